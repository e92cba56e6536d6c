// Curves along the path: features, plausibility and probability; what each change brings about.

import { h, s } from "./dom.js";
import { line, picture, scale, spread, text, tick, ticks } from "./plot.js";

/** Features that are drawn along the path. */
const MOST = 8;

const HEIGHT = 240;

/** Return a picture of how far each feature is from the start, at every step. */
export function featureCurves(get) {
  return picture(
    () => "How far each feature is from the start, in standard deviations, step by step",
    (width) => {
      const { pictures, answer } = get();
      if (!pictures) return null;
      if (!pictures.features.length) return empty("Nothing changes along the path.");
      const chosen = [...pictures.features]
        .sort((a, b) => Math.abs(b.moves.at(-1)) - Math.abs(a.moves.at(-1)))
        .slice(0, MOST);
      const labels = Math.min(150, Math.max(116, width * 0.36));
      const low = Math.min(0, ...chosen.flatMap((f) => f.moves));
      const high = Math.max(0, ...chosen.flatMap((f) => f.moves));
      const count = chosen[0].moves.length;
      const marks = ticks(low, high, 4);
      const left = 14 + 7 * Math.max(3, ...marks.map((t) => tick(t).length));
      const x = scale(0, count - 1, left, width - labels - 10);
      const y = scale(low, high, HEIGHT - 28, 14);
      const names = answer.waypoints.map((w) => w.name);
      const room = (width - labels - 10 - left) / Math.max(1, count - 1);
      const ends = spread(chosen.map((f) => y(f.moves.at(-1))), 15, 14, HEIGHT - 28);
      return s(
        "svg",
        { width, height: HEIGHT },
        marks.map((t) => [
          s("line", { x1: left, x2: width - labels - 10, y1: y(t), y2: y(t), class: t ? "grid" : "zero" }),
          text(left - 6, y(t) + 4, tick(t), { class: "tick", "text-anchor": "end" }),
        ]),
        names.map((name, k) =>
          text(x(k), HEIGHT - 8, short(name, room), {
            class: "tick",
            "text-anchor": k === 0 ? "start" : k === count - 1 ? "end" : "middle",
          }),
        ),
        chosen.map((f, k) => {
          const points = f.moves.map((move, step) => [x(step), y(move)]);
          const said = `${f.feature}: ${f.values.join(" → ")}`;
          return s(
            "g",
            { class: `series c${k}` },
            s("title", null, said),
            s("path", { d: line(points), class: "curve" }),
            points.slice(1).map(([px, py]) => s("circle", { cx: px, cy: py, r: 3 })),
            s("path", {
              d: line([
                [width - labels - 8, points.at(-1)[1]],
                [width - labels, ends[k]],
              ]),
              class: "leader",
            }),
            text(width - labels + 4, ends[k] + 4, f.feature, { class: "label" }, Math.floor((labels - 6) / 7.2)),
          );
        }),
      );
    },
    () => HEIGHT,
  );
}

/** Return the name of a waypoint, its number where there is little room. */
function short(name, room) {
  if (room < 64) return name.replace("Step ", "").replace("Start", "0");
  return name === "What to do" ? "End" : name;
}

/** Return a picture of probability and plausibility along the path. */
export function alongCurves(get) {
  return picture(
    () => "Probability of the goal and plausibility along the path",
    (width) => {
      const { pictures } = get();
      if (!pictures) return null;
      if (pictures.along.length.length < 2) return empty("There is no path to follow.");
      const { along, asked } = pictures;
      const end = along.length.at(-1);
      const x = scale(0, end, 40, width - 12);
      const bands = profileBands(along, x);
      const height = 250 + (bands ? 26 : 0);
      const corners = along.waypoint
        .map((w, k) => (Number.isInteger(w) ? along.length[k] : null))
        .filter((l) => l !== null);
      const panel = (values, top, low, high, asks, marks, name, kind) => {
        const y = scale(low, high, top + 90, top);
        const points = values.map((v, k) => (v === null ? null : [x(along.length[k]), y(v)]));
        return s(
          "g",
          null,
          text(40, top - 8, name, { class: "panel" }),
          marks.map(([value, words]) => [
            s("line", { x1: 40, x2: width - 12, y1: y(value), y2: y(value), class: "grid" }),
            text(34, y(value) + 4, words, { class: "tick", "text-anchor": "end" }),
          ]),
          asks === null
            ? null
            : s("line", { x1: 40, x2: width - 12, y1: y(asks), y2: y(asks), class: "asked" }),
          corners.map((l) => s("line", { x1: x(l), x2: x(l), y1: top, y2: top + 90, class: "grid" })),
          s("path", { d: line(points.filter(Boolean)), class: `curve ${kind}` }),
          corners.map((l) => {
            const k = along.length.indexOf(l);
            return points[k] && s("circle", { cx: points[k][0], cy: points[k][1], r: 3, class: kind });
          }),
        );
      };
      const seen = along.plausibility.filter((v) => v !== null);
      const low = Math.min(-1, asked.plausibility ?? 0, ...seen);
      const high = Math.max(1, ...seen);
      return s(
        "svg",
        { width, height },
        panel(along.posterior, 24, 0, 1, asked.posterior, [[0, "0%"], [0.5, "50%"], [1, "100%"]],
          "probability of the goal", "probability"),
        panel(along.plausibility, 150, low, high, asked.plausibility,
          ticks(low, high, 3).map((t) => [t, tick(t)]), "plausibility (0 is average)", "plausible"),
        bands,
      );
    },
    () => 276,
  );
}

function profileBands(along, x) {
  if (!along.profile.some(Boolean)) return null;
  const names = [...new Set(along.profile)];
  const parts = [];
  let first = 0;
  for (let k = 1; k <= along.profile.length; k += 1) {
    if (k < along.profile.length && along.profile[k] === along.profile[first]) continue;
    const from = x(along.length[first]);
    const to = x(along.length[Math.min(k, along.profile.length - 1)]);
    const name = along.profile[first];
    parts.push(
      s("rect", { x: from, y: 250, width: Math.max(1, to - from), height: 16, class: `band b${names.indexOf(name) % 4}` },
        s("title", null, `Most similar group: ${name}`)),
      to - from > 7 * name.length + 8
        ? text((from + to) / 2, 262, name, { class: "tick band-name", "text-anchor": "middle" })
        : null,
    );
    first = k;
  }
  return s("g", null, parts);
}

/** Return a picture of what each change does for the goal, in log-odds. */
export function contributionBars(get) {
  return picture(
    () => "What each change does for the goal, in log-odds",
    (width) => {
      const { pictures, answer } = get();
      if (!pictures) return null;
      if (!answer.changes.length) return empty("Nothing changes along the path.");
      const bars = pictures.contributions.filter((c) => c.contribution !== null).slice(0, 10);
      if (!bars.length) return empty("Only known if the density itself judges the class.");
      const labels = Math.min(150, width * 0.4);
      const height = 22 * bars.length + 24;
      const low = Math.min(0, ...bars.map((b) => b.contribution));
      const high = Math.max(0, ...bars.map((b) => b.contribution));
      const x = scale(low, high, labels + 8, width - 44);
      return s(
        "svg",
        { width, height },
        s("line", { x1: x(0), x2: x(0), y1: 0, y2: height - 20, class: "zero" }),
        bars.map((b, k) => {
          const y = 22 * k + 4;
          return s(
            "g",
            { class: b.contribution < 0 ? "against" : "for" },
            text(labels, y + 11, b.feature, { class: "label", "text-anchor": "end" }, Math.floor(labels / 7)),
            s("rect", {
              x: Math.min(x(0), x(b.contribution)),
              y,
              width: Math.max(1, Math.abs(x(b.contribution) - x(0))),
              height: 14,
              rx: 2,
            }),
            text(Math.max(x(0), x(b.contribution)) + 5, y + 11, signed(b.contribution), { class: "tick" }),
          );
        }),
      );
    },
    () => 160,
  );
}

/** Return a picture of each judge's probability of the goal, at the start and at the end. */
export function judgeBars(get) {
  return picture(
    () => "Probability of the goal at start and end, for each judge",
    (width) => {
      const { pictures } = get();
      if (!pictures) return null;
      const { judges } = pictures;
      if (!judges.length) return empty("The density alone judges.");
      const labels = Math.min(150, width * 0.4);
      const height = 22 * judges.length + 24;
      const x = scale(0, 1, labels + 14, width - 52);
      const asked = pictures.asked.posterior;
      return s(
        "svg",
        { width, height },
        [0, 0.5, 1].map((t) => [
          s("line", { x1: x(t), x2: x(t), y1: 0, y2: height - 20, class: "grid" }),
          text(x(t), height - 6, `${100 * t}%`, { class: "tick", "text-anchor": "middle" }),
        ]),
        s("line", { x1: x(asked), x2: x(asked), y1: 0, y2: height - 20, class: "asked" }),
        judges.map((judge, k) => {
          const y = 22 * k + 11;
          const said = `${judge.judge}: ${share(judge.start)} → ${share(judge.end)}`;
          return s(
            "g",
            { class: judge.decides ? "judge" : "judge heard" },
            s("title", null, judge.decides ? said : `${said}, not asked to agree`),
            text(labels, y + 4, judge.judge, { class: "label", "text-anchor": "end" }, Math.floor(labels / 7)),
            s("line", { x1: x(judge.start), x2: x(judge.end), y1: y, y2: y }),
            s("circle", { cx: x(judge.start), cy: y, r: 4, class: "before" }),
            s("circle", { cx: x(judge.end), cy: y, r: 5 }),
            text(width - 44, y + 4, share(judge.end), { class: "tick" }),
          );
        }),
      );
    },
    () => 178,
  );
}

function share(value) {
  return value < 0.01 ? "<1%" : value > 0.99 ? ">99%" : `${Math.round(100 * value)}%`;
}

function signed(value) {
  const size = Math.abs(value);
  const digits = size < 10 ? 1 : 0;
  const words = size.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return `${value < 0 ? "−" : "+"}${words}`;
}

/** Return a sentence in place of a picture. */
export function empty(words) {
  return h("p", { class: "nothing" }, words);
}
