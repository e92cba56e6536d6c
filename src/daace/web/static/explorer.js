// The explorer: puts the parts together, asks, and shows what comes back. One module for the page
// that `daace serve` sends and for the widget in a notebook.

import { Kernel, Server } from "./backend.js";
import { Batch } from "./batch.js";
import { OnDemand, alternativeList, comparison, reasonList, tradeoffPicture } from "./compare.js";
import { Person } from "./controls.js";
import { alongCurves, contributionBars, featureCurves, judgeBars } from "./curves.js";
import { card, copy, debounce, download, h, put } from "./dom.js";
import { Goal, ruleChips } from "./goal.js";
import { Link } from "./link.js";
import { NetworkView, profileTable } from "./network.js";
import { People } from "./people.js";
import { Plan, changeTable } from "./plan.js";
import { Search } from "./search.js";
import { Store } from "./store.js";
import { TerrainView } from "./terrain.js";

/** Milliseconds of rest before a question is asked. */
const REST = 160;

class Explorer {
  constructor(backend, facts, host) {
    this.backend = backend;
    this.facts = facts;
    this.store = new Store(facts);
    this.answer = null;
    this.pictures = null;
    this.terrain = null;
    this.kept = null;
    this.asked = 0; // changes of the question, and how many of them the plan answers
    this.shown = 0;
    this.looking = null;
    this.later = debounce(() => this.explain(), REST);
    this.build(host);
    this.store.listen((key) => this.changed(key));
  }

  build(host) {
    const get = () => this;
    this.host = host;
    this.people = new People(this.backend, this.facts, (person) => this.choose(person));
    this.person = new Person(this.store);
    this.goal = new Goal(this.store);
    this.chips = h("ul", { class: "chips", "aria-label": "Rules that hold" });
    this.plan = new Plan({
      replan: (waypoint, step) => this.replan(waypoint, step),
      remedy: (remedy) => {
        this.store.replace(remedy.question);
        this.plan.headline.focus(); // the button goes with the plan that it belongs to
      },
      keep: () => this.keep(),
      file: (format) => this.save(format),
      open: (text) => this.open(text),
    });
    this.search = new Search(this.backend, this.plan);
    this.undo = h("button", { type: "button", onclick: () => this.store.undo() }, "Undo");
    this.link = this.backend.can.links ? new Link(this.store) : null;
    this.who = h("p", { class: "who" });
    this.changes = h("div");
    this.views = {
      features: featureCurves(get),
      along: alongCurves(get),
      judges: judgeBars(get),
      bars: contributionBars(get),
      terrain: new TerrainView(this.store, get, () => this.turn()),
    };
    this.network = new NetworkView();
    this.profiles = h("div");
    this.compare = card("Two plans compared", "");
    this.compare.element.hidden = true;
    this.compare.element.classList.add("wide");
    this.demands = this.makeDemands();
    put(host, this.layout());
    host.addEventListener("keydown", (event) => {
      const typing = /^(input|select|textarea)$/i.test(event.target.tagName) && event.target.type !== "range";
      if ((event.ctrlKey || event.metaKey) && event.key === "z" && !typing) {
        event.preventDefault();
        this.store.undo();
      }
    });
  }

  makeDemands() {
    const ask = (what, more) => (signal) =>
      this.backend.ask(what, { ...this.question(), ...more }, signal);
    const take = (view) => this.showOther(view.answer);
    return {
      reasons: new OnDemand({
        button: "What counts against the goal now?",
        about: "The features that count most against the goal, and the values at which they no longer would.",
        ask: ask("reasons"),
        draw: reasonList,
      }),
      alternatives: new OnDemand({
        button: "Look for other plans",
        about: "Other plans that cost at most 50% more.",
        ask: ask("alternatives", { count: 3 }),
        draw: (found) => alternativeList(found, take),
      }),
      tradeoff: new OnDemand({
        button: "Compare short and plausible paths",
        about: "From the shortest path to the one that stays among the most usual cases.",
        ask: ask("tradeoff"),
        draw: (found) => tradeoffPicture(found, take),
      }),
    };
  }

  layout() {
    const { views, demands } = this;
    const part = (title, about, ...children) => card(title, about, ...children).element;
    const wide = (element) => {
      element.classList.add("wide");
      return element;
    };
    const people = h("details", { class: "card", open: true }, h("summary", null, "People"), this.people.element);
    return [
      h(
        "header",
        null,
        h("div", null, h("h1", null, this.facts.name), h("p", { class: "about" }, this.about())),
        h("div", { class: "tools" }, this.undo, this.link ? this.link.button : null),
      ),
      h(
        "div",
        { class: "columns early" },
        h(
          "div",
          { class: "ask-column" },
          people,
          part("What should be different", "", this.goal.element, this.chips),
          part("Person", "", this.who, this.person.element),
        ),
        h(
          "div",
          { class: "answer-column" },
          this.plan.element,
          this.compare.element,
          part("What changes", "From start to end, largest first.", this.changes),
          part("Features along the path", "Distance from the start, in standard deviations.", views.features.element),
          part("Terrain", "", TerrainView.legend(), views.terrain.element),
          part("Along the path", "The dashed line is the required value.", views.along.element),
          part("Who agrees", "Probability of the goal at the start (ring) and at the end (dot), according to each judge.", views.judges.element),
          part("What raises the probability", "Gain in log-odds; features move together, so one can count against the goal.", views.bars.element),
          part("What depends on what", "", NetworkView.legend(), this.network.element),
          part("Why not now?", "", demands.reasons.element),
          part("Short or plausible", "", demands.tradeoff.element),
          this.backend.can.batches
            ? part("Many people", "The goal and the rules hold for every row of a CSV file.", new Batch(this.backend, this.store).element)
            : null,
          wide(part("Other plans", "", demands.alternatives.element)),
          wide(part("Groups of similar cases", "", this.profiles)),
        ),
      ),
      h("footer", null, `DAACE ${this.facts.version} · model ${this.facts.hash.slice(0, 12)} · nothing leaves this machine`),
    ];
  }

  about() {
    const { facts } = this;
    const by = facts.judge === "density" ? "" : `, judged by ${facts.judge}`;
    const rules = facts.own_rules ? ` The model's own rules: ${facts.own_rules}.` : "";
    return `${facts.features.length} features, ${facts.target}: ${facts.classes.join(", ")}${by}.${rules}`;
  }

  /** Begin: with the question of the link, with one that is given, or with the first person. */
  async begin(given) {
    this.network.load(this.backend);
    const rows = this.people.load();
    if (given) this.store.replace({ ...given, target: given.target ?? this.aim() }, "the given row");
    else if (!this.link || !this.link.follow()) {
      const found = await rows;
      if (found.rows.length) this.choose(found.rows[0]);
    }
  }

  choose(person) {
    this.people.mark(person.number);
    const now = this.store.question || { settings: {}, constraints: {} };
    // Bounds belong to one person's values: the next one may be outside of them.
    const { lower, upper, links, ...kept } = now.constraints;
    this.store.replace(
      { row: person.row, target: this.aim(person.class), settings: now.settings, constraints: kept },
      `row #${person.number}`,
    );
  }

  /** The class to begin with: of more than two, the chosen one, or the first that a person is not in. */
  aim(recorded) {
    const { classes } = this.facts;
    if (classes.length === 2) return null; // the less probable one
    return this.store.question?.target ?? classes.find((label) => label !== recorded);
  }

  /** Go on from a step of the plan, which can then be edited. */
  replan(waypoint, step) {
    const question = copy(this.question());
    question.row = { ...waypoint.row };
    this.store.replace(question, `${this.store.who}, then step ${step}`);
    this.plan.headline.focus();
  }

  question() {
    const { row, target, settings, constraints } = this.store.question;
    const wanted = target ?? (this.answer ? this.answer.target : null);
    return { row, target: wanted, settings, constraints };
  }

  changed(key) {
    const { store } = this;
    this.person.update();
    this.goal.update();
    ruleChips(store, this.chips);
    this.undo.disabled = store.past.length === 0;
    put(this.who, `Start: ${store.who}. Every value can be changed.`);
    for (const demand of Object.values(this.demands)) demand.reset();
    this.asked += 1;
    this.plan.wait();
    this.later(key);
  }

  async explain() {
    if (this.link) this.link.write();
    const { asked } = this;
    const { row, target, settings, constraints } = this.store.question;
    try {
      const answer = await this.search.ask({ row, target, settings, constraints });
      if (!answer) return;
      this.shown = asked;
      this.show(answer);
      this.say("");
    } catch (error) {
      this.shown = asked;
      this.plan.outdate();
      this.say(error.message);
    }
  }

  /** Say something in place of the progress; the plan stays busy if it answers an older question. */
  say(words) {
    this.plan.idle(words);
    if (this.shown !== this.asked) this.plan.wait();
  }

  show(answer) {
    this.answer = answer;
    this.plan.show(answer);
    this.reveal();
    this.goal.showTarget(answer.target);
    this.person.showEnd(answer);
    put(this.changes, changeTable(answer.changes));
    this.network.light(answer);
    this.showKept();
    this.look(false);
  }

  /** Show the terrain under two other features. */
  turn() {
    if (this.link) this.link.write();
    this.look(true);
  }

  /** Show all parts once there is an answer, and at once with the heights of their pictures. */
  reveal() {
    const { classList } = this.host.querySelector(".columns");
    if (!classList.contains("early")) return;
    classList.remove("early");
    for (const view of Object.values(this.views)) view.refresh();
  }

  async look(again) {
    const { answer } = this;
    if (!answer || answer.status === "invalid_row") return;
    const asked = { ...answer.question, answer: answer.answer };
    if (!again) {
      if (this.looking) this.looking.abort();
      this.looking = new AbortController();
    }
    const { signal } = this.looking;
    const fail = (error) => {
      if (!signal.aborted) this.say(error.message);
      return null;
    };
    if (!again) {
      this.backend.ask("pictures", asked, signal).then((pictures) => {
        if (signal.aborted) return;
        this.pictures = pictures;
        const { features, along, judges, bars } = this.views;
        for (const view of [features, along, judges, bars]) view.refresh();
        put(this.profiles, pictures.passage ? h("p", null, pictures.passage) : "", profileTable(this.facts, pictures));
      }, fail);
    }
    const { axes } = this.store;
    const wanted = axes ? { ...asked, features: axes } : asked;
    const terrain = await this.backend.ask("terrain", wanted, signal).catch(fail);
    if (signal.aborted || axes !== this.store.axes) return;
    this.terrain = terrain;
    this.views.terrain.refresh();
  }

  async showOther(name) {
    const { asked } = this;
    try {
      const answer = await this.backend.ask("view", { answer: name });
      if (asked !== this.asked) return; // the question has changed meanwhile
      this.show(answer);
      this.plan.headline.focus();
    } catch (error) {
      this.say(error.message);
    }
  }

  keep() {
    if (!this.answer) return;
    this.kept = this.answer;
    this.showKept();
  }

  showKept() {
    const { kept, answer, compare } = this;
    compare.element.hidden = !kept || kept === answer;
    if (compare.element.hidden) {
      if (kept) this.say("This plan is kept: change something to compare.");
      return;
    }
    put(
      compare.body,
      comparison(kept, answer, {
        back: () => {
          this.kept = null;
          this.store.replace(kept.question);
        },
        drop: () => {
          this.kept = null;
          this.showKept();
        },
      }),
    );
  }

  async save(format) {
    if (!this.answer) return;
    try {
      const asked = { ...this.answer.question, answer: this.answer.answer };
      const { name, kind, text } = await this.backend.file(format, asked);
      download(name, kind, text);
    } catch (error) {
      this.say(error.message);
    }
  }

  async open(text) {
    try {
      const answer = await this.backend.ask("view", { record: JSON.parse(text) });
      this.store.replace(answer.question, "an opened answer");
      this.later.cancel();
      this.search.cancel();
      if (this.link) this.link.write();
      this.shown = this.asked;
      this.show(answer);
      this.say("");
    } catch (error) {
      this.say(error instanceof SyntaxError ? "The file is not JSON." : error.message);
    }
  }
}

async function open(backend, host, given) {
  host.classList.add("dx");
  try {
    const facts = await backend.get("model");
    const explorer = new Explorer(backend, facts, host);
    await explorer.begin(given);
  } catch (error) {
    put(host, h("p", { class: "trouble" }, error.message));
  }
}

const page = typeof document === "undefined" ? null : document.getElementById("daace-explorer");
if (page) open(new Server(), page);

/** What anywidget calls: the state of the widget is the question and the answer to it. */
export default {
  render({ model, el }) {
    const host = h("div");
    // JupyterLab would take arrows on a slider, Ctrl-Z and letters for its own shortcuts.
    host.addEventListener("focusin", ({ target }) => target.setAttribute("data-lm-suppress-shortcuts", "true"));
    el.append(host);
    open(new Kernel(model), host, model.get("question"));
  },
};
