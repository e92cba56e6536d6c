// The plan: steps in words first, then how sure it is; or why there is none, and what would help.

import { breakable, h, put } from "./dom.js";

/** The card of the plan. */
export class Plan {
  constructor({ replan, remedy, keep, file, open }) {
    this.acts = { replan, remedy };
    this.headline = h("h2", { class: "headline", tabindex: "-1" }, "Choose a person");
    this.state = h("div", { class: "state", role: "status", "aria-live": "polite" });
    this.words = h("div", { class: "words" });
    const upload = h("input", {
      type: "file",
      accept: ".json,application/json",
      "aria-label": "Open an exported answer",
      class: "visually-hidden",
      onchange: async () => {
        if (upload.files[0]) open(await upload.files[0].text());
        upload.value = "";
      },
    });
    const button = (words, act, about) =>
      h("button", { type: "button", onclick: act, title: about }, words);
    this.tools = h(
      "div",
      { class: "tools" },
      button("Keep to compare", keep, "Show this plan beside the next ones"),
      button("Receipt", () => file("receipt"), "A page to print and hand over"),
      button("Page", () => file("html"), "The answer as a page with plots"),
      button("CSV", () => file("csv"), "The changes as a table"),
      button("JSON", () => file("json"), "All of the answer, to open again"),
      h("label", { class: "button" }, upload, "Open JSON"),
    );
    this.element = h(
      "section",
      { class: "card plan", "aria-label": "Plan" },
      h("div", { class: "top" }, this.headline, this.state),
      this.words,
      this.tools,
    );
  }

  /** Mark the plan as out of date while the next one is looked for. */
  wait() {
    this.element.setAttribute("aria-busy", "true");
    this.outdate();
  }

  /** Whether an answer is being waited for. */
  waits() {
    return this.element.hasAttribute("aria-busy");
  }

  /** Dim what answers an older question: its buttons would bring that question back. */
  outdate() {
    this.element.classList.add("old");
    this.words.inert = true;
  }

  /** Show that a search is going on; `stop` ends it. */
  busy(words, stop) {
    this.wait();
    put(
      this.state,
      h("span", { class: "spinner", "aria-hidden": "true" }),
      words,
      stop ? h("button", { type: "button", onclick: stop }, "Stop") : null,
    );
  }

  idle(words) {
    this.element.removeAttribute("aria-busy");
    put(this.state, words ? h("span", { class: "trouble" }, words) : "");
  }

  show(answer) {
    this.element.classList.remove("old");
    this.words.inert = false;
    this.headline.textContent = answer.headline;
    this.element.classList.toggle("failed", !answer.found);
    put(this.words, answer.found ? this.found(answer) : this.failed(answer));
  }

  found(answer) {
    const steps = answer.steps.map((step, number) =>
      h(
        "li",
        null,
        h("p", null, step.words),
        h(
          "button",
          {
            type: "button",
            class: "quiet",
            onclick: () => this.acts.replan(answer.waypoints[number + 1], number + 1),
          },
          number + 1 === answer.steps.length ? "Edit this end and plan from it" : "Edit this step and plan from it",
        ),
      ),
    );
    return [
      steps.length ? h("ol", { class: "steps" }, steps) : null,
      answer.sure.length
        ? h("ul", { class: "sure" }, answer.sure.map((line) => h("li", null, line)))
        : null,
      answer.notes.length
        ? h("ul", { class: "notes" }, answer.notes.map((note) => h("li", null, note)))
        : null,
    ];
  }

  failed(answer) {
    return [
      h("ul", { class: "notes" }, answer.advice.map((line) => h("li", null, line))),
      answer.remedies.length
        ? h(
            "div",
            { class: "remedies" },
            h("h3", null, "What would help"),
            answer.remedies.map((remedy) =>
              h(
                "button",
                { type: "button", class: "remedy", onclick: () => this.acts.remedy(remedy) },
                remedy.words,
              ),
            ),
          )
        : null,
    ];
  }
}

/** Changes that are shown at once. */
const SHOWN = 10;

/** Return changes as a table with bars, the smaller ones folded. */
export function changeTable(changes) {
  if (!changes.length) return h("p", { class: "nothing" }, "Nothing changes.");
  const largest = Math.max(...changes.map((c) => Math.abs(c.sd)));
  const rest = changes.length > SHOWN + 2 ? changes.slice(SHOWN) : [];
  return h(
    "div",
    null,
    changeRows(changes.slice(0, changes.length - rest.length), largest),
    rest.length
      ? h("details", null, h("summary", null, `${rest.length} smaller changes`), changeRows(rest, largest))
      : null,
  );
}

function changeRows(changes, largest) {
  return h(
    "table",
    { class: "changes" },
    h(
      "thead",
      null,
      h("tr", null, ["feature", "from", "to", "size"].map((name) => h("th", { scope: "col" }, name))),
    ),
    h(
      "tbody",
      null,
      changes.map((c) => {
        const bar = h("span", { class: `bar ${c.verb}` });
        bar.style.setProperty("--share", String(Math.abs(c.sd) / largest));
        return h(
          "tr",
          null,
          h("th", { scope: "row" }, breakable(c.feature)),
          h("td", null, c.from),
          h("td", { class: "to" }, c.to),
          h("td", { class: "size" }, bar, h("span", null, c.size)),
        );
      }),
    ),
  );
}
