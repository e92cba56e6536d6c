// The search for the answer to a question: one at a time, the latest question wins.

/** Asks, shows progress, and stops what nobody waits for any more. */
export class Search {
  constructor(backend, plan) {
    this.backend = backend;
    this.plan = plan;
    this.number = 0;
    this.control = null;
  }

  /** Drop the search that is going on: its answer belongs to an older question. */
  cancel() {
    this.number += 1;
    if (this.control) this.control.abort();
  }

  /** Return the answer to a question; null if another search has taken its place meanwhile. */
  async ask(question) {
    this.cancel();
    const { number } = this;
    this.control = new AbortController();
    const { signal } = this.control;
    const job = this.backend.can.progress ? `q${Date.now().toString(36)}-${number}` : null;
    const timer = this.watch(number, job);
    try {
      const answer = await this.backend.ask("explain", job ? { ...question, job } : question, signal);
      return number === this.number ? answer : null;
    } catch (error) {
      if (number === this.number) throw error;
      return null;
    } finally {
      clearInterval(timer);
    }
  }

  /** Show progress of a search, and how to stop it. */
  watch(number, job) {
    const began = Date.now();
    this.plan.busy("Searching…");
    return setInterval(async () => {
      const seconds = Math.round((Date.now() - began) / 1000);
      if (number !== this.number || seconds < 1) return;
      let looked = "";
      if (job) {
        const known = await this.backend.get(`jobs/${job}`).catch(() => null);
        if (known && known.evaluations) looked = `, ${known.evaluations.toLocaleString("en")} paths tried`;
      }
      if (number === this.number && this.plan.waits())
        this.plan.busy(`Searching… ${seconds} s${looked}`, job ? () => this.backend.stop(job) : null);
    }, 1000);
  }
}
