// What all pictures share: they are drawn at the width they have, and again when it changes.

import { h, put, s } from "./dom.js";

/**
 * Return a picture: `draw(width)` makes the SVG; `refresh()` draws again. `height(width)` is kept
 * free for it, so that nothing moves when it comes.
 */
export function picture(label, draw, height) {
  const host = h("div", { class: "picture" });
  let width = 0;
  const refresh = () => {
    const now = host.clientWidth;
    if (now !== width) {
      width = now;
      host.style.minHeight = `${height(width)}px`;
    }
    if (width < 40) return;
    const drawn = draw(width);
    put(host, drawn);
    if (drawn && drawn.tagName === "svg") {
      drawn.setAttribute("role", "img");
      drawn.setAttribute("aria-label", label());
    }
  };
  new ResizeObserver(() => {
    if (host.clientWidth !== width) refresh();
  }).observe(host);
  return { element: host, refresh };
}

/** Return a linear map from one interval to another. */
export function scale(low, high, from, to) {
  const span = high - low || 1;
  return (value) => from + ((value - low) / span) * (to - from);
}

/** Return up to `count` round numbers between two ends. */
export function ticks(low, high, count) {
  const raw = (high - low) / Math.max(1, count);
  if (!(raw > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k += 1)
    found.push(Number((k * step).toPrecision(10)));
  return found;
}

/** Return a number of an axis. */
export function tick(value) {
  const size = Math.abs(value);
  if (size >= 10000) return `${Number((value / 1000).toPrecision(3))}k`;
  return String(Number(value.toPrecision(4))).replace("-", "−");
}

/** Return text in a picture, cut to a number of characters, whole in its title. */
export function text(x, y, words, attributes, most = 99) {
  const cut = words.length > most ? `${words.slice(0, most - 1)}…` : words;
  const node = s("text", { x, y, ...attributes }, cut);
  if (cut !== words) node.append(s("title", null, words));
  return node;
}

/** Return a polyline's path. */
export function line(points) {
  return points.map(([x, y], k) => `${k ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
}

/** Return positions at least `gap` apart, as close to the wanted ones as they can be, in order. */
export function spread(wanted, gap, low, high) {
  const order = wanted.map((y, k) => ({ y, k })).sort((a, b) => a.y - b.y);
  let last = low - gap;
  for (const entry of order) {
    entry.y = Math.max(entry.y, last + gap);
    last = entry.y;
  }
  let next = high + gap;
  for (const entry of [...order].reverse()) {
    entry.y = Math.min(entry.y, next - gap);
    next = entry.y;
  }
  const found = [];
  for (const entry of order) found[entry.k] = entry.y;
  return found;
}
