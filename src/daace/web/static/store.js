// The question that is being asked, how it came about, and the link that brings it back.

import { copy } from "./dom.js";

/** Changes that follow within this time on the same control are one step of undo. */
const TOGETHER = 800;

/** Question, history and listeners. */
export class Store {
  constructor(facts) {
    this.facts = facts;
    this.question = null;
    this.who = "";
    this.axes = null;
    this.past = [];
    this.listeners = [];
    this.last = { key: "", at: 0 };
  }

  /** Call a function after each change: with the key of the control that made it. */
  listen(listener) {
    this.listeners.push(listener);
  }

  /** Change the question; `key` names the control, so that a drag is one step of undo. */
  change(key, edit) {
    const now = Date.now();
    const together = key && key === this.last.key && now - this.last.at < TOGETHER;
    if (!together) this.remember();
    this.last = { key, at: now };
    edit(this.question);
    tidy(this.question);
    this.tell(key);
  }

  /** Replace the whole question. */
  replace(question, who) {
    if (this.question) this.remember();
    this.question = copy(question);
    tidy(this.question);
    if (who !== undefined) this.who = who;
    this.last = { key: "", at: 0 };
    this.tell("");
  }

  remember() {
    this.past.push({ question: copy(this.question), who: this.who });
    if (this.past.length > 100) this.past.shift();
  }

  undo() {
    const before = this.past.pop();
    if (!before) return;
    this.question = before.question;
    this.who = before.who;
    this.last = { key: "", at: 0 };
    this.tell("");
  }

  tell(key) {
    for (const listener of this.listeners) listener(key);
  }

  /** Return the rule of a kind on a feature, or undefined. */
  rule(kind, feature) {
    const rules = this.question.constraints[kind];
    if (Array.isArray(rules)) return rules.includes(feature);
    return rules ? rules[feature] : undefined;
  }

  /** Set or, with undefined or false, remove the rule of a kind on a feature. */
  setRule(kind, feature, value) {
    this.change(`${kind} ${feature}`, (question) => {
      const rules = question.constraints;
      if (value === true || value === false) {
        const others = (rules[kind] || []).filter((name) => name !== feature);
        rules[kind] = value ? [...others, feature] : others;
      } else {
        rules[kind] = { ...(rules[kind] || {}) };
        if (value === undefined) delete rules[kind][feature];
        else rules[kind][feature] = value;
      }
    });
  }

  /** Return the part of the address that brings the question back. */
  toHash() {
    const bytes = new TextEncoder().encode(
      JSON.stringify({ question: this.question, who: this.who, axes: this.axes }),
    );
    let text = "";
    for (const byte of bytes) text += String.fromCharCode(byte);
    return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  }

  /** Take over what `toHash` wrote; false if it is something else. */
  fromHash(hash) {
    try {
      const text = atob(hash.replaceAll("-", "+").replaceAll("_", "/"));
      const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
      const known = JSON.parse(new TextDecoder().decode(bytes));
      const names = this.facts.features.map((feature) => feature.name);
      if (!names.every((name) => name in known.question.row)) return false;
      this.question = known.question;
      this.who = String(known.who || "");
      this.axes = Array.isArray(known.axes) ? known.axes : null;
      tidy(this.question);
      return true;
    } catch {
      return false;
    }
  }
}

/** Remove empty rules. */
function tidy(question) {
  question.settings = question.settings || {};
  question.constraints = question.constraints || {};
  for (const [kind, rules] of Object.entries(question.constraints)) {
    const none =
      rules === null ||
      (Array.isArray(rules) && rules.length === 0) ||
      (typeof rules === "object" && rules !== null && Object.keys(rules).length === 0);
    if (none) delete question.constraints[kind];
  }
}
