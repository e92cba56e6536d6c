// The network behind the model: arcs by sign, nodes that change are lit.

import { h, put, s } from "./dom.js";
import { empty } from "./curves.js";
import { picture, text } from "./plot.js";

/** Nodes of a network that need the whole width. */
const MANY = 14;

/** The picture of the network. */
export class NetworkView {
  constructor() {
    this.network = null;
    this.changed = new Set();
    this.reason = "";
    this.picture = picture(
      () => this.label(),
      (width) => this.draw(width),
      () => 240,
    );
    this.element = this.picture.element;
  }

  async load(backend) {
    try {
      this.network = await backend.get("network");
      const many = this.network.nodes.length > MANY;
      this.element.closest(".card").classList.toggle("wide", many);
    } catch (error) {
      this.reason = error.message;
    }
    this.picture.refresh();
  }

  light(answer) {
    this.changed = new Set(((answer && answer.changes) || []).map((c) => c.feature));
    this.picture.refresh();
  }

  label() {
    const { network } = this;
    return network
      ? `Network of ${network.nodes.length} features and ${network.arcs.length} arcs`
      : "Network";
  }

  draw(width) {
    const { network } = this;
    if (!network) return empty(this.reason || "The model is not a network.");
    const size = Math.max(240, 24 * Math.ceil(network.nodes.length / 2) + 40);
    const longest = Math.max(...network.nodes.map((node) => node.feature.length));
    const margin = Math.min(18 + 7.2 * longest, width * 0.34);
    const [across, up] = [Math.min(width / 2 - margin, 0.8 * size), size / 2 - 16];
    const centre = [width / 2, size / 2];
    const place = spots(network.nodes, centre, across, up);
    const id = `arrow${Math.round(width)}`;
    return s(
      "svg",
      { width, height: size, class: "network" },
      s(
        "defs",
        null,
        ["plus", "minus", "mixed"].map((kind) =>
          s(
            "marker",
            { id: `${id}${kind}`, viewBox: "0 0 6 6", refX: 11, refY: 3, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" },
            s("path", { d: "M0 0 6 3 0 6z", class: `head ${kind}` }),
          ),
        ),
      ),
      network.arcs.map((arc) => {
        const [a, b] = [place.get(arc.parent), place.get(arc.child)];
        const kind = arc.sign > 0 ? "plus" : arc.sign < 0 ? "minus" : "mixed";
        const lit = this.changed.has(arc.parent) && this.changed.has(arc.child);
        const bend = [
          (a[0] + b[0]) / 2 + (centre[0] - (a[0] + b[0]) / 2) * 0.3,
          (a[1] + b[1]) / 2 + (centre[1] - (a[1] + b[1]) / 2) * 0.3,
        ];
        return s(
          "path",
          {
            d: `M${a.map(Math.round)}Q${bend.map(Math.round)} ${b.map(Math.round)}`,
            class: `arc ${kind}${lit ? " lit" : ""}`,
            "stroke-width": Math.min(2.2, 0.7 + 1.2 * Math.abs(arc.coefficient)),
            "marker-end": `url(#${id}${kind})`,
          },
          s("title", null, `${arc.parent} → ${arc.child}: ${arc.coefficient.toFixed(2)}`),
        );
      }),
      network.nodes.map((node) => {
        const [px, py] = place.get(node.feature);
        const right = node.x >= 0;
        const lit = this.changed.has(node.feature);
        const room = right ? width - px - 10 : px - 10;
        return s(
          "g",
          { class: `node${lit ? " lit" : ""}` },
          s("circle", { cx: px, cy: py, r: lit ? 6 : 4.5 }),
          text(px + (right ? 10 : -10), py + 4, node.feature, {
            class: "label",
            "text-anchor": right ? "start" : "end",
          }, Math.max(4, Math.floor(room / 7.9))),
        );
      }),
    );
  }

  /** Return what the colours mean. */
  static legend() {
    return h(
      "ul",
      { class: "legend" },
      h("li", null, h("i", { class: "plus" }), "rises with"),
      h("li", null, h("i", { class: "minus" }), "falls with"),
      h("li", null, h("i", { class: "mixed" }), "depends on the class or group"),
      h("li", null, h("i", { class: "lit" }), "changes on the path"),
    );
  }
}

/** Return where the nodes stand: on an oval, one below the other so that no labels overlap. */
function spots(nodes, centre, across, up) {
  const found = new Map();
  for (const side of [1, -1]) {
    const here = nodes.filter((node) => node.x >= 0 === side > 0).sort((a, b) => b.y - a.y);
    here.forEach((node, k) => {
      const t = here.length > 1 ? (2 * k) / (here.length - 1) - 1 : 0;
      const wide = Math.max(0.3, Math.sqrt(Math.max(0, 1 - t * t)));
      found.set(node.feature, [centre[0] + side * across * wide, centre[1] + t * up]);
    });
  }
  return found;
}

/** Return the groups of similar cases that the model knows, as a table. */
export function profileTable(facts, pictures) {
  if (!facts.profiles.length) return empty("The model has one group for each class.");
  const passed = new Set(pictures ? Object.keys(pictures.profiles) : []);
  const called = (p) => `${p.class} ${p.profile}`;
  const onPath = facts.profiles.filter((p) => passed.has(called(p)));
  const others = facts.profiles.filter((p) => !passed.has(called(p)));
  return h(
    "div",
    null,
    onPath.length ? groups(onPath, called, "Groups on the path") : null,
    h(
      "details",
      null,
      h("summary", null, others.length === 1 ? "1 other group" : `${others.length} other groups`),
      groups(others, called, "Other groups"),
    ),
  );
}

function groups(profiles, called, label) {
  const heads = ["group", "share of its class", "what sets it apart"];
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
    h(
      "table",
      { class: "groups" },
      h("thead", null, h("tr", null, heads.map((name) => h("th", { scope: "col" }, name)))),
      h(
        "tbody",
        null,
        profiles.map((p) =>
          h(
            "tr",
            null,
            h("td", null, called(p)),
            h("td", { class: "number" }, `${Math.round(100 * p.share)}%`),
            h("td", null, p.description),
          ),
        ),
      ),
    ),
  );
}
