// Who answers: the server of this page, or the kernel of a notebook. Nobody else is ever asked.

/** What went wrong, in a sentence of the package. */
export class Refused extends Error {}

async function readAnswer(response) {
  const value = await response.json();
  if (!response.ok) throw new Refused(value.error ? value.error.message : response.statusText);
  return value;
}

/** The server that sent this page. */
export class Server {
  constructor() {
    this.can = { batches: true, people: true, progress: true, links: true };
  }

  async ask(what, body, signal) {
    return readAnswer(
      await fetch(`/api/${what}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
        signal,
      }),
    );
  }

  async get(what) {
    return readAnswer(await fetch(`/api/${what}`));
  }

  async stop(job) {
    return readAnswer(await fetch(`/api/jobs/${job}`, { method: "DELETE" }));
  }

  async file(format, body) {
    const response = await fetch(`/api/export/${format}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!response.ok) await readAnswer(response);
    const kind = response.headers.get("content-type");
    const name = format === "receipt" ? "receipt.html" : `explanation.${format}`;
    return { name, kind, text: await response.text() };
  }
}

/** The kernel of a notebook, by the messages of its widget. */
export class Kernel {
  constructor(model) {
    this.model = model;
    this.can = { batches: false, people: true, progress: false, links: false };
    this.waiting = new Map();
    this.count = 0;
    model.on("msg:custom", (message) => {
      const waiting = this.waiting.get(message.id);
      if (!waiting) return;
      this.waiting.delete(message.id);
      if (message.error) waiting.fail(new Refused(message.error));
      else waiting.done(message.value);
    });
  }

  ask(what, body, signal) {
    this.count += 1;
    const id = this.count;
    return new Promise((done, fail) => {
      this.waiting.set(id, { done, fail });
      if (signal)
        signal.addEventListener("abort", () => {
          this.waiting.delete(id);
          fail(new DOMException("stopped", "AbortError"));
        });
      this.model.send({ id, what, body });
    });
  }

  get(what) {
    return this.ask("get", { what });
  }

  async stop() {}

  file(format, body) {
    return this.ask("export", { ...body, format });
  }
}
