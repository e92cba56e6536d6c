// Counties on a map: choose one by a click or by its name, and read what would improve it.

import { Server } from "./backend.js";
import { card, debounce, h, newId, put, s } from "./dom.js";

/** Milliseconds of rest before a question is asked. */
const PAUSE = 160;

/** The map: one shape per county, in the colours of a view. */
class CountyMap {
  constructor(facts, choose) {
    this.facts = facts;
    this.shapes = new Map();
    const group = s("g");
    for (const [fips, d] of Object.entries(facts.map.shapes)) {
      const name = facts.counties[fips] ? facts.counties[fips][0] : "no overall index";
      const shape = s("path", { d, class: "county" }, s("title", null, name));
      if (facts.counties[fips]) shape.addEventListener("click", () => choose(Number(fips)));
      else shape.classList.add("nameless");
      this.shapes.set(fips, shape);
      group.append(shape);
    }
    this.ring = s("path", { class: "chosen", d: "" });
    // Whoever cannot see the map has the list of counties: the shapes are no tab stops.
    this.svg = s(
      "svg",
      { viewBox: facts.map.box.join(" "), class: "county-map", role: "img", "aria-label": "Map of the counties" },
      group,
      this.ring,
    );
    this.legend = h("ul", { class: "legend" });
    this.element = h("figure", { class: "map-figure" }, this.svg, this.legend);
  }

  /** Colour every county; `entries` are value, colour, words. */
  paint(valueOf, entries, otherwise) {
    const colours = new Map(entries.map(([value, colour]) => [value, colour]));
    let without = false;
    for (const [fips, shape] of this.shapes) {
      const colour = colours.get(valueOf(fips));
      without = without || !colour;
      shape.setAttribute("fill", colour || this.facts.empty);
    }
    const lines = without ? [...entries, [null, this.facts.empty, otherwise]] : entries;
    put(
      this.legend,
      lines.map(([, colour, words]) =>
        h("li", null, s("svg", { viewBox: "0 0 10 10", "aria-hidden": "true" }, s("rect", { width: 10, height: 10, fill: colour })), words),
      ),
    );
  }

  mark(fips) {
    this.ring.setAttribute("d", this.facts.map.shapes[fips] || "");
  }
}

/** Before and after of each domain, as a table with bars. */
function domainTable(domains) {
  const largest = Math.max(...domains.map((d) => Math.abs(d.after - d.before)), 1e-9);
  const signed = (x) => `${x < 0 ? "−" : "+"}${Math.abs(x).toFixed(2)}`;
  return h(
    "table",
    { class: "changes domains" },
    h("thead", null, h("tr", null, ["domain", "now", "after", "change"].map((name) => h("th", { scope: "col" }, name)))),
    h(
      "tbody",
      null,
      domains.map((d) => {
        const change = d.after - d.before;
        const width = (45 * Math.abs(change)) / largest;
        return h(
          "tr",
          null,
          h("th", { scope: "row" }, d.domain),
          h("td", null, signed(d.before)),
          h("td", null, signed(d.after)),
          h(
            "td",
            null,
            h(
              "div",
              { class: "gain" },
              s(
                "svg",
                { viewBox: "0 0 100 12", preserveAspectRatio: "none", "aria-hidden": "true" },
                s("line", { x1: 50, x2: 50, y1: 0, y2: 12, class: "zero" }),
                s("rect", { x: change < 0 ? 50 - width : 50, y: 2, width, height: 8, class: change < 0 ? "worse" : "better" }),
              ),
              h("span", null, signed(change)),
            ),
          ),
        );
      }),
    ),
  );
}

class CountyPage {
  constructor(backend, facts, host) {
    this.backend = backend;
    this.facts = facts;
    this.question = { fips: null, improve: 2, consistent: true, equity: false, settable: false, penalty: 5, algorithm: "BayesACE" };
    this.number = 0;
    this.control = null;
    this.later = debounce(() => this.ask(), PAUSE);
    this.map = new CountyMap(facts, (fips) => this.choose(fips));
    this.names = new Map(Object.entries(facts.counties).map(([fips, [name]]) => [name.toLowerCase(), Number(fips)]));
    this.build(host);
    this.colour("now");
    const known = Number(location.hash.slice(1));
    if (facts.counties[known]) this.choose(known);
  }

  build(host) {
    const { facts } = this;
    const list = newId();
    this.search = h("input", {
      type: "search",
      list,
      "aria-label": "County",
      placeholder: "Los Angeles County, CA",
      onchange: () => {
        const fips = this.names.get(this.search.value.trim().toLowerCase());
        if (fips !== undefined) this.choose(fips);
        else put(this.state, h("span", { class: "trouble" }, "There is no such county: choose one from the list."));
      },
    });
    const options = [...this.names].length
      ? Object.values(facts.counties).map(([name]) => h("option", { value: name }))
      : [];
    this.controls = {};
    const box = (name, words) => {
      this.controls[name] = h("input", { type: "checkbox", "data-ask": name, checked: this.question[name], onchange: (e) => this.change(name, e.target.checked) });
      return h("label", { class: "check" }, this.controls[name], words);
    };
    const pick = (name, words, entries) => {
      this.controls[name] = h(
        "select",
        { "data-ask": name, onchange: (e) => this.change(name, name === "algorithm" ? e.target.value : Number(e.target.value)) },
        entries.map(([value, text]) => h("option", { value, selected: value === this.question[name] }, text)),
      );
      return h("label", { class: "row" }, h("span", null, words), this.controls[name]);
    };
    const views = [["now", "category now"], ...(facts.plans ? [["after", "category after the plans on record"], ["domain", "main domain to act on"]] : [])];
    this.view = h("select", { "data-view": "", onchange: (e) => this.colour(e.target.value) }, views.map(([value, words]) => h("option", { value }, words)));
    this.headline = h("h2", { class: "headline", tabindex: "-1" }, "Choose a county");
    this.state = h("div", { class: "state", role: "status", "aria-live": "polite" });
    this.words = h("div", { class: "words" });
    this.plan = h("section", { class: "card plan", "aria-label": "Plan" }, h("div", { class: "top" }, this.headline, this.state), this.words);
    const wide = card("Counties", "Click a county, or type its name.", h("div", { class: "picked" }, this.search, h("datalist", { id: list }, options), h("label", { class: "row" }, h("span", null, "colour by"), this.view)), this.map.element);
    const rules = card(
      "What to ask",
      "",
      h(
        "div",
        { class: "asked" },
        pick("improve", "better by", [1, 2, 3, 4, 5, 6].map((k) => [k, k === 1 ? "1 category" : `${k} categories`])),
        pick("penalty", "stay among usual counties", [[1, "a little"], [5, "as a rule"], [10, "much"], [15, "very much"]]),
        facts.algorithms.length > 1 ? pick("algorithm", "planned by", facts.algorithms.map((name) => [name, name])) : null,
        box("consistent", "indices follow from their variables"),
        box("equity", "no domain may get worse"),
        box("settable", "only what a county can set"),
      ),
    );
    put(host, [
      h("header", null, h("div", null, h("h1", null, "Environmental quality of US counties"), h("p", { class: "about" }, `${Object.keys(facts.counties).length.toLocaleString("en")} counties in seven categories, from ${facts.categories[0]} to ${facts.categories[facts.categories.length - 1]}.`))),
      h("div", { class: "columns counties" }, h("div", { class: "map-column" }, wide.element), h("div", { class: "plan-column" }, rules.element, this.plan)),
      h("footer", null, `${facts.caveat} `, `DAACE ${facts.version} · model ${facts.hash.slice(0, 12)} · nothing leaves this machine`),
    ]);
  }

  colour(view) {
    const { facts } = this;
    const categories = facts.categories.map((name, k) => [k, facts.category_colours[k], `${k} ${name}`]);
    const plans = facts.plans || {};
    if (view === "now") this.map.paint((fips) => (facts.counties[fips] || [])[1], categories, "no overall index");
    else if (view === "after") this.map.paint((fips) => (plans[fips] || [])[0], categories, "no plan on record");
    else this.map.paint((fips) => (plans[fips] || [])[1], Object.entries(facts.domain_colours).map(([name, colour]) => [name, colour, name]), "no plan on record");
  }

  choose(fips) {
    this.question.fips = fips;
    this.search.value = this.facts.counties[fips][0];
    this.map.mark(fips);
    history.replaceState(null, "", `#${fips}`);
    this.wait();
  }

  change(name, value) {
    this.question[name] = value;
    this.wait();
  }

  /** Take over a question, controls and all. */
  replace(question) {
    for (const [name, control] of Object.entries(this.controls)) {
      this.question[name] = question[name];
      if (control.type === "checkbox") control.checked = question[name];
      else control.value = String(question[name]);
    }
    this.wait();
  }

  wait() {
    if (this.question.fips === null) return;
    this.plan.setAttribute("aria-busy", "true");
    put(this.state, h("span", { class: "spinner", "aria-hidden": "true" }), "Searching…");
    this.later();
  }

  async ask() {
    this.number += 1;
    const { number } = this;
    if (this.control) this.control.abort();
    this.control = new AbortController();
    try {
      const plan = await this.backend.ask("plan", this.question, this.control.signal);
      if (number !== this.number) return;
      this.show(plan);
      put(this.state, "");
    } catch (error) {
      if (number !== this.number) return;
      this.headline.textContent = this.facts.counties[this.question.fips][0];
      put(this.words, "");
      put(this.state, h("span", { class: "trouble" }, error.message));
    }
    this.plan.removeAttribute("aria-busy");
  }

  show(plan) {
    const { categories } = this.facts;
    this.headline.textContent = plan.found
      ? `${plan.county}: from “${categories[plan.category]}” to “${categories[plan.target]}”`
      : `${plan.county}: no path to “${categories[plan.target]}” was found`;
    put(this.words, plan.found ? this.found(plan) : this.failed(plan));
  }

  found(plan) {
    if (!plan.changes.length) return [h("p", null, "The model predicts this category already: nothing has to change.")];
    return [
      h("p", { class: "about" }, `${plan.kind[0].toUpperCase()}${plan.kind.slice(1)} county. The largest changes first:`),
      h("ol", { class: "steps" }, plan.changes.map((change) => h("li", null, h("p", null, `${change.words[0].toUpperCase()}${change.words.slice(1)}`), h("span", { class: "tag" }, change.domain)))),
      plan.smaller ? h("p", { class: "about" }, `And ${plan.smaller} smaller changes.`) : null,
      plan.steps.length > 1
        ? h("details", null, h("summary", null, `In ${plan.steps.length} steps`), h("ol", { class: "steps" }, plan.steps.map((step) => h("li", null, h("p", null, `${step.join("; ")}.`)))))
        : null,
      h("h3", null, "Effect on the domains"),
      h("p", { class: "about" }, "Indices in standard deviations over the counties, by EPA’s formulas; high is good."),
      domainTable(plan.domains),
      h("p", null, plan.verdict),
    ];
  }

  failed(plan) {
    return [
      h("ul", { class: "notes" }, plan.reasons.map((line) => h("li", null, line))),
      plan.remedies.length
        ? h(
            "div",
            { class: "remedies" },
            h("h3", null, "What would help"),
            plan.remedies.map((remedy) => h("button", { type: "button", class: "remedy", onclick: () => this.replace(remedy.question) }, remedy.words)),
          )
        : null,
    ];
  }
}

const place = document.getElementById("daace-counties");
place.classList.add("dx");
const server = new Server();
server.get("counties").then(
  (facts) => new CountyPage(server, facts, place),
  (error) => put(place, h("p", { class: "trouble" }, error.message)),
);
