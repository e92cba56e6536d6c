// The address that holds the question, so that a bookmark or a copied link brings it back.

import { h } from "./dom.js";

/** The link, and the button that copies it. */
export class Link {
  constructor(store) {
    this.store = store;
    this.button = h("button", { type: "button", onclick: () => this.copy() }, "Copy link");
    addEventListener("hashchange", () => this.follow());
  }

  /** Have the address hold the question; browsers allow this some times a second, not each time. */
  write() {
    history.replaceState(null, "", `#${this.store.toHash()}`);
  }

  /** Take over the question of the address; false if there is none. */
  follow() {
    const hash = location.hash.slice(1);
    if (!hash || !this.store.fromHash(hash)) return false;
    this.store.tell("");
    return true;
  }

  async copy() {
    this.write();
    try {
      await navigator.clipboard.writeText(location.href);
      this.button.textContent = "Copied";
    } catch {
      this.button.textContent = "See the address bar";
    }
    setTimeout(() => {
      this.button.textContent = "Copy link";
    }, 2000);
  }
}
