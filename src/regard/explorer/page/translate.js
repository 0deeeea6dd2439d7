// Translate: a sentence, the decoder word by word, and the map of where it looked.

import { translate } from "./api.js";
import { button, choice } from "./controls.js";
import { h } from "./dom.js";
import { mount } from "./map.js";
import { busy, errorBox, looks, modelChoices, modelsFor, noModels } from "./models.js";
import { Player } from "./player.js";

export const TITLE = "Translate";
export const LEAD =
  "A decoder writes one word at a time. Before each word it looks back at the sentence: here is where, and how strongly.";
const FIRST = "The agreement on the European Economic Area was signed in August 1992.";

export function open(root, params, app) {
  return new Translate(root, params, app);
}

class Translate {
  constructor(root, params, app) {
    Object.assign(this, { root, params, app, result: null, plain: null, player: null, map: null });
    this.root.append(h("p", { class: "rg-note", text: "Asking the server for its models …" }));
    this.start();
  }

  close() {
    this.closed = true;
    this.request?.abort();
    this.player?.destroy();
    this.map?.destroy();
  }

  async start() {
    const all = await this.app.models();
    if (this.closed) return;
    this.models = modelsFor(all, "translate");
    if (!this.models.length) {
      this.root.replaceChildren(noModels("translate", all));
      return;
    }
    const asked = this.params.get("model");
    this.model = this.models.find((model) => model.name === asked) ?? this.models[0];
    this.beam = ["1", "3", "5"].includes(this.params.get("beam")) ? this.params.get("beam") : "5";
    this.build();
    this.translate({ step: whole(this.params.get("step")), rows: wholes(this.params.get("rows")) });
  }

  build() {
    this.text = h("textarea", {
      rows: "2",
      id: "sentence",
      maxlength: "5000",
      spellcheck: "false",
      text: this.params.get("text") ?? FIRST,
      on: {
        keydown: (event) =>
          event.key === "Enter" && !event.shiftKey && (event.preventDefault(), this.translate({ push: true })),
      },
    });
    this.go = button("Translate", () => this.translate({ push: true }), { class: "button primary" });
    this.output = h("div", { class: "output" });
    this.about = h("p", { class: "rg-note" });
    const form = h(
      "div",
      { class: "ask" },
      h("label", { for: "sentence", text: "Sentence" }),
      this.text,
      h(
        "div",
        { class: "controls" },
        choice("Model", modelChoices(this.models), this.model.name, (name) => {
          this.model = this.models.find((model) => model.name === name);
          this.translate({ push: true });
        }),
        choice("Search", { 1: "greedy", 3: "beam of 3", 5: "beam of 5" }, this.beam, (beam) => {
          this.beam = beam;
          this.translate({ push: true });
        }),
        this.go,
      ),
      this.about,
    );
    this.root.replaceChildren(form, this.output);
  }

  async translate({ push = false, step = 0, rows = [] } = {}) {
    const text = this.text.value.trim();
    if (!text) {
      this.fail("Type a sentence first.");
      return;
    }
    this.request?.abort();
    this.request = new AbortController();
    const { signal } = this.request;
    busy(this.output, "Translating … The first sentence waits until the model is loaded.");
    const ask = ({ name }) => translate(name, text, Number(this.beam), signal);
    const other = this.models.find((model) => !looks(model) && model !== this.model);
    const main = ask(this.model);
    const plain = other && ask(other).catch((error) => ({ failed: error.message }));
    try {
      this.result = await main;
    } catch (error) {
      if (error.name !== "AbortError") this.fail(error.message);
      return;
    }
    Object.assign(this, { step, rows, plain: other && { model: other, answer: null } });
    this.show();
    if (push) this.write({ push });
    this.app.announce(`Translation: ${this.result.text}`);
    if (other) this.showPlain(await plain, signal);
  }

  fail(message) {
    this.request?.abort();
    this.output.removeAttribute("aria-busy");
    this.result = null;
    this.output.replaceChildren(errorBox(message));
  }

  /** The answer without attention comes after the one that was asked for, and may come too late. */
  showPlain(answer, signal) {
    if (signal.aborted) return;
    this.plain.answer = answer;
    this.plainBox.replaceWith((this.plainBox = plainPanel(this.plain)));
  }

  show() {
    this.player?.destroy();
    this.map?.destroy();
    this.output.removeAttribute("aria-busy");
    const { result } = this;
    this.about.textContent = this.model.description ? `About this model: ${this.model.description}` : "";
    this.player = result.steps?.length
      ? new Player(result, {
          step: this.step,
          onStep: (step) => {
            this.step = step;
            this.write();
          },
        })
      : null;
    const mapBox = h(
      "section",
      { class: "panel map-panel", "aria-label": "The whole map" },
      h("h2", { text: "The whole map" }),
    );
    this.plainBox = this.plain ? plainPanel(this.plain) : null;
    const parts = [
      h("p", { class: "answer", dir: "auto", text: result.text || "(nothing was written)" }),
      h("div", { class: "two" }, this.player?.element, mapBox),
      this.plainBox,
    ];
    this.output.replaceChildren(...parts.filter(Boolean));
    this.map = mount(
      mapBox,
      { ...result, title: null, source: null, text: null },
      {
        selected: this.rows,
        onSelect: (rows) => {
          this.rows = rows;
          this.write();
        },
      },
    );
  }

  write(options) {
    const params = new URLSearchParams({ model: this.model.name, text: this.text.value.trim() });
    if (this.beam !== "5") params.set("beam", this.beam);
    if (this.step) params.set("step", String(this.step));
    if (this.rows.length) params.set("rows", this.rows.join(","));
    this.app.write(params, options);
  }

  snapshot() {
    if (!this.result) return null;
    const main = { ...this.result, title: this.model.label };
    if (!this.plain?.answer?.text) return { name: "regard-translation", data: main };
    const plain = { ...this.plain.answer, title: `${this.plain.model.label}, without attention` };
    const parts = [main, plain].map((part) => ({ ...part, source: "" }));
    return { name: "regard-translation", data: { kind: "several", title: this.result.source, parts } };
  }
}

function plainPanel({ model, answer }) {
  const text = answer ? answer.text || "(nothing was written)" : "…";
  return h(
    "section",
    { class: "panel", "aria-label": "Without attention", "aria-busy": answer ? null : "true" },
    h("h2", { text: "Without attention" }),
    answer?.failed ? errorBox(answer.failed) : h("p", { class: "answer plain", dir: "auto", text }),
    h("p", {
      class: "rg-note",
      text: `${model.label}: one vector of fixed size carried the whole sentence to this decoder; it had nowhere to look back to.`,
    }),
  );
}

const whole = (text) => (/^\d{1,4}$/.test(text ?? "") ? Number(text) : 0);

const wholes = (text) =>
  (text ?? "")
    .split(",")
    .filter((part) => /^\d{1,4}$/.test(part))
    .map(Number);
