// One control for each kind of feature, and the rules on it.

import { breakable, h, newId, put, s, shown } from "./dom.js";
import { FeatureRules, readNumber } from "./rules.js";

const LOCK = "M4 7V5a4 4 0 0 1 8 0v2m-9 0h10v7H3z";
const OPEN = "M4 7V5a4 4 0 0 1 7.6-1.7M3 7h10v7H3z";

/** Return the icon of a lock. */
function icon(path) {
  return s(
    "svg",
    { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" },
    s("path", { d: path, fill: "none", stroke: "currentColor", "stroke-width": 1.5 }),
  );
}

/** The list of all features of one person. */
export class Person {
  constructor(store) {
    this.store = store;
    this.rows = store.facts.features.map((feature) => new FeatureRow(feature, store));
    const find = h("input", {
      type: "search",
      class: "find",
      placeholder: "Find a feature",
      "aria-label": "Find a feature",
      oninput: () => {
        const text = find.value.toLowerCase();
        for (const row of this.rows)
          row.element.hidden = !row.feature.name.toLowerCase().includes(text);
      },
    });
    this.element = h(
      "div",
      { class: "person" },
      this.rows.length > 12 ? find : null,
      h("ul", { class: "features" }, this.rows.map((row) => row.element)),
    );
  }

  /** Show the question; what is being dragged keeps its place. */
  update() {
    for (const row of this.rows) row.update();
  }

  /** Show where the answer ends. */
  showEnd(answer) {
    const changes = new Map(((answer && answer.changes) || []).map((c) => [c.feature, c]));
    const end = answer && answer.found ? answer.waypoints.at(-1).row : null;
    for (const row of this.rows)
      row.showEnd(changes.get(row.feature.name), end ? end[row.feature.name] : undefined);
  }
}

class FeatureRow {
  constructor(feature, store) {
    this.feature = feature;
    this.store = store;
    this.id = newId();
    this.control = makeControl(feature, this.id, (value) =>
      store.change(`row ${feature.name}`, (question) => {
        question.row[feature.name] = value;
      }),
    );
    this.lock = h("button", {
      type: "button",
      class: "lock",
      "aria-label": `Lock ${feature.name}`,
      title: "Lock: this cannot change",
      onclick: () => store.setRule("fixed", feature.name, !store.rule("fixed", feature.name)),
    });
    this.end = h("span", { class: "end" });
    this.rules = new FeatureRules(feature, store);
    const rulesId = newId();
    this.rules.element.id = rulesId;
    this.more = h(
      "button",
      {
        type: "button",
        class: "more",
        "aria-expanded": "false",
        "aria-controls": rulesId,
        "aria-label": `Rules for ${feature.name}`,
        onclick: () => {
          this.rules.element.hidden = !this.rules.element.hidden;
          this.more.setAttribute("aria-expanded", String(!this.rules.element.hidden));
        },
      },
      "Rules",
    );
    const unit = feature.unit ? h("small", null, ` ${feature.unit}`) : null;
    const name = this.control.group
      ? h("span", { class: "name", id: `${this.id}n` }, breakable(feature.name), unit)
      : h("label", { class: "name", for: this.id }, breakable(feature.name), unit);
    this.element = h(
      "li",
      { class: "feature", "data-feature": feature.name },
      h("div", { class: "head" }, this.lock, name, this.end, this.more),
      h("div", { class: "control" }, this.control.element),
      this.rules.element,
    );
  }

  update() {
    const { store, feature } = this;
    this.control.set(store.question.row[feature.name]);
    const locked = Boolean(store.rule("fixed", feature.name));
    this.lock.setAttribute("aria-pressed", String(locked));
    put(this.lock, icon(locked ? LOCK : OPEN));
    this.element.classList.toggle("locked", locked);
    this.rules.update();
    this.more.classList.toggle("some", this.rules.any());
  }

  showEnd(change, value) {
    this.element.classList.toggle("changes", Boolean(change));
    put(this.end, change ? `→ ${change.to}` : "");
    if (this.control.mark) this.control.mark(change ? value : undefined);
  }
}

/** Return the control of a feature's kind: its element, `set(value)`, and perhaps `mark(value)`. */
function makeControl(feature, id, changed) {
  if (feature.kind === "category") return makeMenu(feature, id, changed);
  if (feature.kind === "ordered")
    return feature.levels.length <= 9
      ? makeLadder(feature, id, changed)
      : makeMenu(feature, id, changed);
  const inner =
    feature.kind === "whole" ? makeStepper(feature, id, changed) : makeSlider(feature, id, changed);
  return feature.missing ? withMissing(feature, inner, changed) : inner;
}

function makeMenu(feature, id, changed) {
  const values = [...feature.levels, ...(feature.missing ? [null] : [])];
  const menu = h("select", { id, onchange: () => changed(values[Number(menu.value)]) });
  const fill = () =>
    put(
      menu,
      values.map((level, number) => h("option", { value: String(number) }, shown(level))),
    );
  fill();
  return {
    element: menu,
    set(value) {
      let place = values.indexOf(value ?? null);
      if (place < 0) {
        values.push(value); // a rare level that the model has pooled
        fill();
        place = values.length - 1;
      }
      menu.value = String(place);
    },
  };
}

function makeLadder(feature, id, changed) {
  const values = [...feature.levels, ...(feature.missing ? [null] : [])];
  const word = h("span", { class: "word" });
  const rungs = values.map((level, number) => {
    const input = h("input", {
      type: "radio",
      name: id,
      "aria-label": `${feature.name}: ${shown(level)}`,
      onchange: () => {
        word.textContent = shown(level);
        changed(level);
      },
    });
    const rung = h("label", { title: shown(level) }, input, h("span", { class: "rung" }));
    const share = level === null ? 0.2 : (number + 1) / feature.levels.length;
    rung.lastChild.style.height = `${Math.round(6 + 16 * share)}px`;
    return { input, rung };
  });
  return {
    group: true,
    element: h(
      "div",
      { class: "ladder", role: "radiogroup", "aria-labelledby": `${id}n` },
      h("div", { class: "rungs" }, rungs.map(({ rung }) => rung)),
      word,
    ),
    set(value) {
      const place = values.indexOf(value ?? null);
      rungs.forEach(({ input, rung }, number) => {
        input.checked = number === place;
        rung.classList.toggle("below", place >= 0 && number <= place && values[place] !== null);
      });
      word.textContent = shown(value);
    },
    mark(value) {
      const place = value === undefined ? -1 : values.indexOf(value);
      rungs.forEach(({ rung }, number) => rung.classList.toggle("goal", number === place));
    },
  };
}

function makeStepper(feature, id, changed) {
  const step = Math.max(1, 10 ** Math.floor(Math.log10(Math.max(1, feature.sd / 2))));
  const input = h("input", {
    id,
    type: "number",
    step: "1",
    inputmode: "numeric",
    onchange: () => changed(readNumber(input, true)),
  });
  const by = (amount) => {
    const now = Number(input.value) || 0;
    const next = feature.low === 0 ? Math.max(0, now + amount) : now + amount;
    input.value = String(next);
    changed(next);
  };
  const button = (text, amount, verb) =>
    h(
      "button",
      {
        type: "button",
        "aria-label": `${verb} ${feature.name} by ${step.toLocaleString("en")}`,
        onclick: () => by(amount),
      },
      text,
    );
  return {
    element: h(
      "div",
      { class: "stepper" },
      button("−", -step, "Lower"),
      input,
      button("+", step, "Raise"),
    ),
    input,
    set(value) {
      if (document.activeElement !== input || readNumber(input, true) !== value)
        input.value = value === null ? "" : String(value);
    },
  };
}

function makeSlider(feature, id, changed) {
  const number = h("input", {
    type: "number",
    step: "any",
    class: "exact",
    "aria-label": `${feature.name}, exact value`,
    onchange: () => {
      const value = readNumber(number, false);
      slider.value = String(value ?? feature.low);
      changed(value);
    },
  });
  const slider = h("input", {
    id,
    type: "range",
    min: String(feature.low),
    max: String(feature.high),
    step: String(feature.step),
    oninput: () => {
      number.value = slider.value;
      changed(Number(slider.value));
    },
  });
  const goal = h("span", { class: "goal", hidden: true });
  return {
    element: h("div", { class: "slider" }, h("div", { class: "track" }, goal, slider), number),
    input: slider,
    others: [number],
    set(value) {
      if (document.activeElement !== slider || Number(slider.value) !== value)
        slider.value = String(value ?? feature.low);
      if (document.activeElement !== number)
        number.value = value === null ? "" : String(Number(Number(value).toPrecision(6)));
    },
    mark(value) {
      goal.hidden = typeof value !== "number";
      if (goal.hidden) return;
      const share = (value - feature.low) / (feature.high - feature.low);
      goal.style.setProperty("--share", String(Math.min(1, Math.max(0, share))));
    },
  };
}

function withMissing(feature, inner, changed) {
  let known = null;
  const box = h("input", {
    type: "checkbox",
    onchange: () => changed(box.checked ? null : known ?? feature.low),
  });
  return {
    ...inner,
    element: h("div", { class: "gap" }, inner.element, h("label", null, box, " missing")),
    set(value) {
      if (typeof value === "number") known = value;
      box.checked = value === null;
      for (const part of inner.element.querySelectorAll("input, button"))
        part.disabled = value === null;
      inner.set(value);
    },
  };
}
