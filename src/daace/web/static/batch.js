// Many rows at once: a file is read here, explained by the server, and its answers fetched.

import { h, put } from "./dom.js";

/** The card of batches. */
export class Batch {
  constructor(backend, store) {
    this.backend = backend;
    this.store = store;
    this.job = null;
    this.file = h("input", { type: "file", accept: ".csv,.tsv,text/csv", "aria-label": "Table to explain" });
    this.start = h("button", { type: "button", onclick: () => this.run() }, "Explain all rows");
    this.result = h("div", { class: "result", role: "status" });
    this.element = h(
      "div",
      { class: "batch" },
      h("div", { class: "ask" }, this.file, this.start),
      this.result,
    );
  }

  async run() {
    const file = this.file.files[0];
    if (!file) {
      put(this.result, h("p", { class: "trouble" }, "Choose a CSV file first."));
      return;
    }
    const { target, settings, constraints } = this.store.question;
    const format = file.name.toLowerCase().endsWith(".tsv") ? "tsv" : "csv";
    this.start.disabled = true;
    try {
      const body = { text: await file.text(), format, target, settings, constraints };
      let job = await this.backend.ask("batches", body);
      const bar = h("progress", { max: "1", "aria-label": "Rows explained" });
      const words = h("span");
      const stop = h("button", { type: "button", onclick: () => this.backend.stop(job.job) }, "Stop");
      put(this.result, h("p", { class: "state" }, bar, words, stop));
      while (job.state === "waiting" || job.state === "running") {
        bar.value = job.total ? job.done / job.total : 0;
        words.textContent = `${job.done} of ${job.total} rows, ${Math.round(job.seconds)} s`;
        await new Promise((done) => setTimeout(done, 400));
        job = await this.backend.get(`jobs/${job.job}`);
      }
      put(this.result, this.finished(job));
    } catch (error) {
      put(this.result, h("p", { class: "trouble" }, error.message));
    }
    this.start.disabled = false;
  }

  finished(job) {
    if (job.state !== "done")
      return h("p", { class: "trouble" }, job.message || "The batch was stopped.");
    const link = (kind, words) =>
      h("a", { href: `/api/jobs/${job.job}/${kind}`, download: `answers.${kind}`, class: "button" }, words);
    return h(
      "div",
      null,
      h("p", { class: "summary" }, job.summary),
      h("div", { class: "tools" }, link("csv", "Answers as CSV"), link("jsonl", "Whole answers as JSON lines")),
    );
  }
}
