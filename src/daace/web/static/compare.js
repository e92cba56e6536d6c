// Other answers: alternatives, the trade-off, a kept plan beside the new one, reasons.

import { breakable, h, put, s, shown } from "./dom.js";
import { empty } from "./curves.js";
import { changeTable } from "./plan.js";
import { line, picture, scale, text, tick, ticks } from "./plot.js";

/** A part that is looked for only when it is asked for. */
export class OnDemand {
  constructor({ button, about, ask, draw }) {
    this.ask = ask;
    this.draw = draw;
    this.count = 0;
    this.control = null;
    this.body = h("div", { class: "demanded" }, h("p", { class: "nothing" }, about));
    this.button = h("button", { type: "button", onclick: () => this.run() }, button);
    this.element = h("div", null, h("div", { class: "ask" }, this.button), this.body);
    this.about = about;
  }

  /** The question has changed: what is shown belongs to an older one. */
  reset() {
    this.count += 1;
    if (this.control) this.control.abort();
    this.button.disabled = false;
    put(this.body, h("p", { class: "nothing" }, this.about));
  }

  async run() {
    this.count += 1;
    const number = this.count;
    this.control = new AbortController();
    this.button.disabled = true;
    const stop = h("button", { type: "button", onclick: () => this.reset() }, "Stop");
    put(this.body, h("p", { class: "state", role: "status" }, h("span", { class: "spinner" }), "Searching…", stop));
    try {
      const found = await this.ask(this.control.signal);
      if (number === this.count) put(this.body, this.draw(found));
    } catch (error) {
      if (number === this.count) put(this.body, h("p", { class: "trouble" }, error.message));
    }
    if (number === this.count) this.button.disabled = false;
  }
}

/** Return alternatives side by side, each with a button to take it. */
export function alternativeList(found, take) {
  if (!found.alternatives.length)
    return h("p", { class: "nothing" }, found.notes[0] || "No other path was found.");
  const one = (title, view, act) =>
    h(
      "article",
      { class: "choice" },
      h("h3", null, title),
      h("p", null, `${view.probability} '${view.target}', cost ${tick(view.cost)}`),
      changeTable(view.changes.slice(0, 8)),
      act ? h("button", { type: "button", onclick: act }, "Show this one") : null,
    );
  return h(
    "div",
    { class: "choices" },
    one("Best", found.best, null),
    found.alternatives.map((view, k) => one(`Alternative ${k + 1}`, view, () => take(view))),
  );
}

/** Return the trade-off between the length of a path and how plausible it is. */
export function tradeoffPicture(found, take) {
  const points = found.points.filter((p) => p.found);
  if (!points.length) return empty("No path was found at any penalty.");
  const drawn = picture(
    () => "Length of the path against its mean log-density, a point for each penalty",
    (width) => {
      const height = 220;
      const xs = points.map((p) => p.length);
      const ys = points.map((p) => p.log_prob);
      const pad = (values) => 0.08 * (Math.max(...values) - Math.min(...values)) || 0.5;
      const x = scale(Math.min(...xs) - pad(xs), Math.max(...xs) + pad(xs), 46, width - 14);
      const y = scale(Math.min(...ys) - pad(ys), Math.max(...ys) + pad(ys), height - 40, 22);
      return s(
        "svg",
        { width, height },
        ticks(Math.min(...xs), Math.max(...xs), 4).map((t) =>
          text(x(t), height - 22, tick(t), { class: "tick", "text-anchor": "middle" }),
        ),
        ticks(Math.min(...ys), Math.max(...ys), 3).map((t) => [
          s("line", { x1: 46, x2: width - 14, y1: y(t), y2: y(t), class: "grid" }),
          text(40, y(t) + 4, tick(t), { class: "tick", "text-anchor": "end" }),
        ]),
        text(width - 14, height - 6, "length (sd) →", { class: "tick", "text-anchor": "end" }),
        text(46, 12, "↑ mean log-density", { class: "tick" }),
        s("path", { d: line(points.map((p) => [x(p.length), y(p.log_prob)])), class: "curve plausible" }),
        points.map((p) => s("circle", { cx: x(p.length), cy: y(p.log_prob), r: 5, class: "plausible" })),
      );
    },
    () => 220,
  );
  const seen = new Set();
  const rows = points.filter((p) => {
    const key = `${p.length.toFixed(6)} ${p.log_prob.toFixed(6)}`;
    return !seen.has(key) && seen.add(key);
  });
  return h(
    "div",
    null,
    drawn.element,
    h(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Trade-off" },
      h(
        "table",
        null,
        h("thead", null, h("tr", null, ["penalty", "length", "steps", "probability", ""].map((n) => h("th", { scope: "col" }, n || h("span", { class: "visually-hidden" }, "show"))))),
        h(
          "tbody",
          null,
          rows.map((p) =>
            h(
              "tr",
              null,
              h("td", null, tick(p.penalty)),
              h("td", null, `${p.length.toFixed(2)} sd`),
              h("td", null, String(p.steps)),
              h("td", null, `${Math.round(100 * p.posterior)}%`),
              h("td", null, h("button", { type: "button", "aria-label": `Show the plan at penalty ${p.penalty}`, onclick: () => take(p) }, "Show")),
            ),
          ),
        ),
      ),
    ),
  );
}

/** Return two plans beside each other. */
export function comparison(kept, now, { back, drop }) {
  const features = new Set([...kept.changes, ...now.changes].map((c) => c.feature));
  const to = (answer, name) => {
    const change = answer.changes.find((c) => c.feature === name);
    return change ? h("td", { class: "to" }, change.to) : h("td", { class: "same" }, "unchanged");
  };
  const from = (name) =>
    [...kept.changes, ...now.changes].find((c) => c.feature === name).from;
  const total = (label, value) =>
    h("tr", null, h("th", { scope: "row" }, label), h("td"), h("td", null, value(kept)), h("td", null, value(now)));
  return h(
    "div",
    null,
    h(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "The two plans" },
      h(
        "table",
        { class: "compare" },
        h("thead", null, h("tr", null, ["", "start", "kept plan", "this plan"].map((n) => h("th", { scope: "col" }, n || h("span", { class: "visually-hidden" }, "feature"))))),
        h(
          "tbody",
          null,
          total("goal", (a) => shown(a.target)),
          total("probability", (a) => a.probability),
          total("steps", (a) => (a.found ? String(a.step_count) : "no path")),
          total("cost", (a) => (a.cost === null ? "–" : tick(a.cost))),
          [...features].map((name) =>
            h("tr", null, h("th", { scope: "row" }, breakable(name)), h("td", null, from(name)), to(kept, name), to(now, name)),
          ),
        ),
      ),
    ),
    h(
      "div",
      { class: "tools" },
      h("button", { type: "button", onclick: back }, "Go back to the kept plan"),
      h("button", { type: "button", onclick: drop }, "Forget it"),
    ),
  );
}

/** Return what counts against the goal now. */
export function reasonList(found) {
  if (!found.reasons.length) return h("p", { class: "nothing" }, found.head);
  return h(
    "div",
    null,
    h("p", null, found.head),
    h("ol", { class: "reasons" }, found.reasons.map((r) => h("li", null, r.sentence))),
  );
}
