// What should be different, how sure, how plausible, with few or all changes.

import { h, newId, put, shown } from "./dom.js";

/** Share by which the cost may grow so that fewer features change. */
const FEW = 0.25;

/** The controls of the goal. */
export class Goal {
  constructor(store) {
    this.store = store;
    this.facts = store.facts;
    this.aim = null; // of the answer that is shown
    this.parts = [
      this.target(),
      this.slider("min_posterior", 0.5, 0.99, 0.01, (value) => `at least ${Math.round(100 * value)}%`),
      this.slider("plausibility", -2.5, 1, 0.05, plausible),
      this.changes(),
      this.most(),
      this.slider("penalty", 0, 10, 0.5, (value) =>
        value === 0 ? "shortest path" : value >= 5 ? "stays among usual cases" : `weight ${value}`,
      ),
    ];
    this.element = h("div", { class: "goals" }, this.parts.map((part) => part.element));
  }

  update() {
    for (const part of this.parts) part.set();
  }

  /** Say which class an answer went for, where none was chosen. */
  showTarget(target) {
    this.aim = target;
    this.parts[0].show(target);
    this.parts[1].set();
  }

  /** Return the value of a setting that was not chosen. */
  byDefault(name) {
    const { classes, settings, sure } = this.facts;
    const aim = this.store.question.target ?? this.aim;
    if (name === "min_posterior") return sure[Math.max(0, classes.indexOf(aim))];
    return settings[name];
  }

  target() {
    const { store } = this;
    const { classes } = store.facts;
    const id = newId();
    let show = null;
    const choose = (label) =>
      store.change("target", (question) => {
        question.target = label;
      });
    let element;
    if (classes.length <= 4) {
      const inputs = classes.map((label) =>
        h("input", { type: "radio", name: id, onchange: () => choose(label) }),
      );
      show = (target) =>
        inputs.forEach((input, number) => {
          input.checked = classes[number] === target;
        });
      element = h(
        "fieldset",
        { class: "segments" },
        h("legend", null, store.facts.labels.target),
        h(
          "div",
          null,
          classes.map((label, number) => h("label", null, inputs[number], h("span", null, shown(label)))),
        ),
      );
    } else {
      const menu = h(
        "select",
        { id, onchange: () => choose(classes[Number(menu.value)]) },
        classes.map((label, number) => h("option", { value: String(number) }, shown(label))),
      );
      show = (target) => {
        menu.value = String(classes.indexOf(target));
      };
      element = h("div", { class: "field" }, h("label", { for: id }, store.facts.labels.target), menu);
    }
    return { element, show, set: () => show(store.question.target) };
  }

  slider(name, low, high, step, words) {
    const { store } = this;
    const id = newId();
    const said = h("output", { for: id });
    const input = h("input", {
      id,
      type: "range",
      min: String(low),
      max: String(high),
      step: String(step),
      "data-setting": name,
      oninput: () => {
        say(Number(input.value));
        store.change(`settings ${name}`, (question) => {
          question.settings[name] = Number(input.value);
          if (name === "plausibility") delete question.settings.min_log_prob;
        });
      },
    });
    const say = (value) => {
      said.textContent = words(value);
      input.setAttribute("aria-valuetext", words(value));
    };
    return {
      element: h(
        "div",
        { class: "field" },
        h("div", { class: "line" }, h("label", { for: id }, store.facts.labels[name]), said),
        input,
      ),
      set: () => {
        const value = store.question.settings[name] ?? this.byDefault(name) ?? low;
        if (Number(input.value) !== value) input.value = String(value);
        say(value);
      },
    };
  }

  changes() {
    const { store } = this;
    const id = newId();
    const own = "changes" in store.facts.settings;
    const few = h("input", { type: "radio", name: id, value: "few" });
    const all = h("input", { type: "radio", name: id, value: "all" });
    const choose = () =>
      store.change("changes", (question) => {
        if (own) question.settings.changes = few.checked ? "few" : "all";
        else if (few.checked) question.settings.sparsity = FEW;
        else delete question.settings.sparsity;
      });
    few.addEventListener("change", choose);
    all.addEventListener("change", choose);
    return {
      element: h(
        "fieldset",
        { class: "segments" },
        h("legend", null, store.facts.labels.changes),
        h(
          "div",
          null,
          h("label", null, few, h("span", null, "few features")),
          h("label", null, all, h("span", null, "all that help")),
        ),
      ),
      set: () => {
        const { settings } = store.question;
        const mode = settings.changes ?? store.facts.settings.changes;
        few.checked = own ? mode === "few" : Boolean(settings.sparsity);
        all.checked = !few.checked;
      },
    };
  }

  most() {
    const { store } = this;
    const id = newId();
    const input = h("input", {
      id,
      type: "number",
      min: "1",
      max: String(store.facts.features.length),
      step: "1",
      placeholder: "any",
      onchange: () =>
        store.change("max_changed", (question) => {
          if (input.value === "") delete question.constraints.max_changed;
          else question.constraints.max_changed = Math.max(1, Math.round(Number(input.value)));
        }),
    });
    return {
      element: h(
        "div",
        { class: "field inline" },
        h("label", { for: id }, store.facts.labels.max_changed),
        input,
      ),
      set: () => {
        if (document.activeElement !== input)
          input.value = String(store.question.constraints.max_changed ?? "");
      },
    };
  }
}

function plausible(value) {
  if (value < -1.5) return "unusual is fine";
  if (value < -0.25) return "not too unusual";
  if (value < 0.4) return "as usual as most";
  return "very usual";
}

/** Return which rules hold, as chips that remove them. */
export function ruleChips(store, host) {
  const chips = [];
  const add = (text, drop) =>
    chips.push(
      h(
        "li",
        null,
        text,
        h("button", { type: "button", "aria-label": `Remove the rule ${text}`, onclick: drop }, "×"),
      ),
    );
  const { labels } = store.facts;
  for (const [kind, rules] of Object.entries(store.question.constraints)) {
    const name = labels[kind] || kind.replaceAll("_", " ");
    const dropAll = () =>
      store.change("", (question) => {
        delete question.constraints[kind];
      });
    if (kind === "links" || typeof rules !== "object") add(`${name}: ${shown(rules)}`, dropAll);
    else if (Array.isArray(rules))
      for (const feature of rules)
        add(`${name}: ${feature}`, () => store.setRule(kind, feature, false));
    else
      for (const [feature, value] of Object.entries(rules))
        add(`${name}: ${feature} ${Array.isArray(value) ? value.join(", ") : shown(value)}`, () =>
          store.setRule(kind, feature, undefined),
        );
  }
  put(host, chips);
  host.hidden = chips.length === 0;
}
