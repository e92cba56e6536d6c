// The terrain under two features with the path on it: light where cases are common.

import { h, put, s } from "./dom.js";
import { empty } from "./curves.js";
import { line, picture, scale, text, tick, ticks } from "./plot.js";

/** The picture and the menus of its axes. */
export class TerrainView {
  constructor(store, get, changed) {
    this.store = store;
    this.get = get;
    this.numbers = store.facts.features
      .filter((f) => f.kind === "number" || f.kind === "whole")
      .map((f) => f.name);
    this.menus = [0, 1].map((axis) =>
      h(
        "select",
        {
          onchange: () => {
            store.axes = this.menus.map((menu) => menu.value);
            if (store.axes[0] === store.axes[1])
              store.axes[1 - axis] = this.numbers.find((name) => name !== store.axes[axis]);
            changed();
          },
        },
        this.numbers.map((name) => h("option", { value: name }, name)),
      ),
    );
    this.picture = picture(
      () => "The landscape of two features with the path on it",
      (width) => this.draw(width),
      heightOf,
    );
    this.element = h(
      "div",
      { class: "terrain" },
      this.numbers.length > 2
        ? h(
            "div",
            { class: "axes" },
            h("label", null, "Across ", this.menus[0]),
            h("label", null, "Up ", this.menus[1]),
          )
        : null,
      this.picture.element,
    );
  }

  refresh() {
    const { terrain } = this.get();
    if (terrain && terrain.features.length === 2)
      terrain.features.forEach((name, axis) => {
        this.menus[axis].value = name;
      });
    this.picture.refresh();
  }

  draw(width) {
    const { terrain } = this.get();
    if (!terrain) return null;
    if (!terrain.axes.length) return empty("The landscape needs two features that are numbers.");
    const height = heightOf(width);
    const [across, up] = terrain.axes;
    const x = scale(across[0], across.at(-1), 46, width - 10);
    const y = scale(up[0], up.at(-1), height - 40, 10);
    const points = terrain.path.map(([a, b]) => [x(a), y(b)]);
    const style = getComputedStyle(this.element);
    const colour = (name) => style.getPropertyValue(name).trim();
    return s(
      "svg",
      { width, height },
      s("image", {
        x: 46,
        y: 10,
        width: width - 56,
        height: height - 50,
        preserveAspectRatio: "none",
        href: relief(terrain, colour("--rare"), colour("--common"), colour("--goal")),
      }),
      s("path", { d: border(terrain.goal, across, up, x, y), class: "border" }),
      ticks(across[0], across.at(-1), width < 420 ? 3 : 5).map((t) =>
        text(x(t), height - 24, tick(t), { class: "tick", "text-anchor": "middle" }),
      ),
      ticks(up[0], up.at(-1), 4).map((t) =>
        text(40, y(t) + 4, tick(t), { class: "tick", "text-anchor": "end" }),
      ),
      text(width - 10, height - 6, `${terrain.features[0]} →`, { class: "tick", "text-anchor": "end" }),
      text(50, 24, `↑ ${terrain.features[1]}`, { class: "tick on-map" }),
      s("path", { d: line(points), class: "way-halo" }),
      s("path", { d: line(points), class: "way" }),
      points.map(([px, py], k) =>
        s("circle", {
          cx: px,
          cy: py,
          r: k === 0 || k === points.length - 1 ? 6 : 4,
          class: k === 0 ? "start" : k === points.length - 1 ? "finish" : "stop",
        }),
      ),
    );
  }

  /** Return what the colours mean. */
  static legend() {
    return h(
      "ul",
      { class: "legend" },
      h("li", null, h("i", { class: "common" }), "common"),
      h("li", null, h("i", { class: "rare" }), "rare"),
      h("li", null, h("i", { class: "goal" }), "goal"),
      h("li", null, h("i", { class: "way" }), "path"),
    );
  }
}

function heightOf(width) {
  return Math.round(Math.min(360, Math.max(240, width * 0.7)));
}

/** Return an image of the terrain: one pixel for each grid point, smoothed by the browser. */
function relief(terrain, rare, common, goal) {
  const rows = terrain.plausibility.length;
  const columns = terrain.plausibility[0].length;
  const canvas = h("canvas", { width: columns, height: rows });
  const paint = canvas.getContext("2d");
  const pixels = paint.createImageData(columns, rows);
  const [dark, light, green] = [rare, common, goal].map(channels);
  for (let i = 0; i < rows; i += 1)
    for (let j = 0; j < columns; j += 1) {
      const value = terrain.plausibility[rows - 1 - i][j] ?? -9;
      const share = Math.min(1, Math.max(0, (value + 4) / 5));
      const tint = (terrain.goal[rows - 1 - i][j] ?? -1) > 0 ? 0.28 : 0;
      for (let c = 0; c < 3; c += 1) {
        const ground = dark[c] + share * (light[c] - dark[c]);
        pixels.data[4 * (i * columns + j) + c] = ground + tint * (green[c] - ground);
      }
      pixels.data[4 * (i * columns + j) + 3] = 255;
    }
  paint.putImageData(pixels, 0, 0);
  return canvas.toDataURL();
}

function channels(colour) {
  const number = parseInt(colour.slice(1), 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
}

/** Return the line where a grid of values is 0 (marching squares). */
function border(values, across, up, x, y) {
  let path = "";
  const cut = (a, b) => a / (a - b);
  for (let i = 0; i + 1 < up.length; i += 1)
    for (let j = 0; j + 1 < across.length; j += 1) {
      const corners = [values[i][j], values[i][j + 1], values[i + 1][j + 1], values[i + 1][j]];
      if (corners.some((v) => v === null)) continue;
      const places = [
        [across[j], up[i]],
        [across[j + 1], up[i]],
        [across[j + 1], up[i + 1]],
        [across[j], up[i + 1]],
      ];
      const crossings = [];
      for (let k = 0; k < 4; k += 1) {
        const next = (k + 1) % 4;
        if (corners[k] > 0 === corners[next] > 0) continue;
        const t = cut(corners[k], corners[next]);
        crossings.push([
          x(places[k][0] + t * (places[next][0] - places[k][0])),
          y(places[k][1] + t * (places[next][1] - places[k][1])),
        ]);
      }
      for (let k = 0; k + 1 < crossings.length; k += 2) path += line(crossings.slice(k, k + 2));
    }
  return path;
}
