// The rules on one feature: direction, bounds, allowed levels.

import { h, shown } from "./dom.js";

/** Return the number in a field; null if it is empty. */
export function readNumber(input, whole) {
  if (input.value.trim() === "") return null;
  const value = Number(input.value);
  return whole ? Math.round(value) : value;
}

/** Direction, bounds or allowed levels of a feature. */
export class FeatureRules {
  constructor(feature, store) {
    this.feature = feature;
    this.store = store;
    this.parts = [];
    const name = feature.name;
    if (feature.kind !== "category") this.parts.push(this.direction());
    if (feature.kind === "number" || feature.kind === "whole") {
      this.parts.push(this.bound("lower", "Lowest"), this.bound("upper", "Highest"));
    } else if (feature.kind === "category") {
      this.parts.push(this.allowed());
    }
    this.element = h(
      "div",
      { class: "rules", hidden: true, role: "group", "aria-label": `Rules for ${name}` },
      this.parts.map((part) => part.element),
    );
  }

  any() {
    const { store, feature } = this;
    const kinds = ["only_up", "only_down", "lower", "upper", "allowed"];
    return kinds.some((kind) => ![undefined, false].includes(store.rule(kind, feature.name)));
  }

  update() {
    for (const part of this.parts) part.set();
  }

  direction() {
    const { store, feature } = this;
    const menu = h(
      "select",
      {
        onchange: () => {
          store.setRule("only_up", feature.name, menu.value === "up");
          store.setRule("only_down", feature.name, menu.value === "down");
        },
      },
      h("option", { value: "" }, "up or down"),
      h("option", { value: "up" }, "only up"),
      h("option", { value: "down" }, "only down"),
    );
    return {
      element: h("label", null, h("span", null, "May go"), menu),
      set: () => {
        const up = store.rule("only_up", feature.name);
        menu.value = up ? "up" : store.rule("only_down", feature.name) ? "down" : "";
      },
    };
  }

  bound(kind, label) {
    const { store, feature } = this;
    const input = h("input", {
      type: "number",
      step: "any",
      placeholder: "any",
      onchange: () => store.setRule(kind, feature.name, readNumber(input, false) ?? undefined),
    });
    return {
      element: h("label", null, h("span", null, label), input),
      set: () => {
        if (document.activeElement !== input)
          input.value = String(store.rule(kind, feature.name) ?? "");
      },
    };
  }

  allowed() {
    const { store, feature } = this;
    const boxes = feature.levels.map((level) =>
      h("input", {
        type: "checkbox",
        onchange: () => {
          const chosen = feature.levels.filter((_, number) => boxes[number].checked);
          const all = chosen.length === feature.levels.length;
          if (chosen.length === 0) boxes[feature.levels.indexOf(level)].checked = true;
          else store.setRule("allowed", feature.name, all ? undefined : chosen);
        },
      }),
    );
    const rows = feature.levels.map((level, number) =>
      h("label", { class: "level" }, boxes[number], ` ${shown(level)}`),
    );
    return {
      element: h(
        "fieldset",
        null,
        h("legend", null, "May become"),
        rows,
      ),
      set: () => {
        const chosen = store.rule("allowed", feature.name);
        feature.levels.forEach((level, number) => {
          boxes[number].checked = !chosen || chosen.includes(level);
        });
      },
    };
  }
}
