// The table of people to choose from, with search and pages.

import { debounce, h, put, shown } from "./dom.js";

/** Rows on a page. */
const ROWS = 8;

/** The table. */
export class People {
  constructor(backend, facts, choose) {
    this.backend = backend;
    this.facts = facts;
    this.choose = choose;
    this.offset = 0;
    this.chosen = null;
    this.count = 0;
    this.search = h("input", {
      type: "search",
      placeholder: "Search: a value, a class, #12",
      "aria-label": "Search people",
      oninput: debounce(() => {
        this.offset = 0;
        this.load();
      }, 200),
    });
    this.head = h("tr");
    this.rows = h("tbody");
    this.pad();
    this.status = h("span", { class: "count", role: "status" });
    this.back = h("button", { type: "button", onclick: () => this.turn(-ROWS) }, "Previous");
    this.next = h("button", { type: "button", onclick: () => this.turn(ROWS) }, "Next");
    const columns = [
      "row",
      facts.target,
      ...facts.features.map((feature) => feature.name),
    ];
    put(this.head, columns.map((name) => h("th", { scope: "col" }, name)));
    // Names are seen with the rows: columns that become wider would push the next ones aside.
    this.head.classList.add("unseen");
    this.element = h(
      "div",
      { class: "people" },
      this.search,
      h(
        "div",
        { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table of people" },
        h("table", null, h("thead", null, this.head), this.rows),
      ),
      h("div", { class: "pages" }, this.back, this.status, this.next),
    );
  }

  /** Keep the height of a whole page of rows. */
  pad() {
    while (this.rows.children.length < ROWS)
      this.rows.append(h("tr", { class: "empty" }, h("td", null, " ")));
  }

  turn(by) {
    this.offset = Math.max(0, this.offset + by);
    this.load();
  }

  async load() {
    this.count += 1;
    const number = this.count;
    const query = encodeURIComponent(this.search.value);
    const found = await this.backend.get(
      `rows?query=${query}&offset=${this.offset}&limit=${ROWS}`,
    );
    if (number === this.count) this.show(found);
    return found;
  }

  show(found) {
    this.head.classList.remove("unseen");
    put(this.rows, found.rows.map((person) => this.line(person)));
    this.pad();
    const last = Math.min(found.found, this.offset + ROWS);
    const range = found.found ? `${this.offset + 1}–${last} of ${shown(found.found)}` : "none found";
    this.status.textContent = found.made_up ? `${range}, made up` : range;
    this.back.disabled = this.offset === 0;
    this.next.disabled = last >= found.found;
    this.mark();
  }

  line(person) {
    const take = () => this.choose(person);
    const button = h(
      "button",
      { type: "button", "aria-label": `Choose row ${person.number}`, onclick: take },
      `#${person.number}`,
    );
    const cells = this.facts.features.map((feature) =>
      h("td", null, shown(person.row[feature.name])),
    );
    return h(
      "tr",
      {
        "data-number": String(person.number),
        onclick: (event) => {
          if (event.target !== button) take();
        },
      },
      h("td", null, button),
      h("td", null, shown(person.class)),
      cells,
    );
  }

  mark(number) {
    if (number !== undefined) this.chosen = number;
    for (const row of this.rows.children) {
      const chosen = row.dataset.number === String(this.chosen);
      row.classList.toggle("chosen", chosen);
      const button = row.querySelector("button");
      if (button) button.setAttribute("aria-pressed", String(chosen));
    }
  }
}
