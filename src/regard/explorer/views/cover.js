// The cover: a map that writes itself, one sentence on what this is, and where to go.

import { translate } from "../page/api.js";
import { button } from "../page/controls.js";
import { hasAttention, modelsFor } from "../page/models.js";
import { write } from "../maths/blackboard.js";
import { data } from "../stage/chapter.js";
import { shadeStyles } from "../viewer/colours.js";
import { h } from "../viewer/dom.js";
import { percent } from "../viewer/numbers.js";

export const TITLE = "Attention, computed and seen";
export const BARE = true;
const SENTENCE = "The agreement on the European Economic Area was signed in August 1992.";
const PACE = 420; // milliseconds a word
const INSTRUMENTS = [
  ["steps", "Steps", "Your own numbers, every step of attention, from one query to several heads"],
  ["translate", "Translate", "A sentence, word by word: where the translator looked, and what it needed"],
  ["caption", "Caption", "A photograph and its caption: where each word looked, softly or at one place"],
  ["kinds", "Kinds", "The same input under different kinds of attention, side by side"],
  ["inspect", "Inspect", "Every head of a model that others trained, maps of any size"],
];

export function open(root, params, app) {
  return new Cover(root, app);
}

class Cover {
  constructor(root, app) {
    this.app = app;
    this.map = h("div", { class: "self-writing" });
    root.append(
      h("div", { class: "cover" },
        h("div", { class: "cover-words" },
          h("h1", { text: "Attention you can compute, train and see" }),
          h("p", { text: "A model writes a sentence, one word at a time. Before each word it looks back at what it read. This page shows where, with every number, and whether it mattered." }),
          h("a", { class: "button primary begin", href: "/story/bottleneck/1", "data-view": "story/bottleneck/1", text: "Begin" }),
          h("p", { class: "rg-note", text: "A story of fifteen minutes, for those who have never heard of it. Or take an instrument:" })),
        this.map),
      h("nav", { class: "instruments", "aria-label": "Instruments" }, INSTRUMENTS.map(([view, name, what]) =>
        h("a", { href: `/${view}`, "data-view": view }, h("strong", { text: name }), h("span", { text: what })))),
    );
    this.start();
  }

  close() {
    this.closed = true;
    clearInterval(this.timer);
    this.request?.abort();
  }

  async start() {
    const found = (await this.translated()) ?? (await blackboard());
    if (!this.closed) this.play(found);
  }

  /** What a translator that is loaded looked at; null where there is none, or it does not answer. */
  async translated() {
    const model = modelsFor(await this.app.models(), "translate").find(hasAttention);
    if (!model || this.closed) return null;
    this.request = new AbortController();
    try {
      const { rows, columns, weights } = await translate(model.name, SENTENCE, 5, this.request.signal);
      return weights && { rows, columns, weights, by: model.label };
    } catch {
      return null;
    }
  }

  play({ rows, columns, weights, by }) {
    clearInterval(this.timer);
    const lines = rows.map((word, i) => line(word, weights[i], columns));
    const again = button("Again", () => this.play({ rows, columns, weights, by }), { class: "button quiet" });
    const note = h("p", { class: "rg-note", text: `Rows: what ${by} wrote. Columns: what it read. Dark: where it looked.` });
    const table = h("table", { "aria-label": `A map of attention: ${rows.join(" ")}` },
      h("thead", {}, h("tr", {}, h("td", {}), columns.map((word) => h("th", { scope: "col" }, h("span", { text: word }))))),
      h("tbody", {}, lines));
    this.map.replaceChildren(table, note, again);
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    lines.forEach((row) => row.classList.add("ahead"));
    let at = 0;
    this.timer = setInterval(() => {
      lines[at].classList.remove("ahead");
      at += 1;
      if (at === lines.length) clearInterval(this.timer);
    }, PACE);
  }
}

function line(word, weights, columns) {
  return h("tr", {}, h("th", { scope: "row", text: word }), weights.map((weight, j) =>
    h("td", { style: shadeStyles(weight), title: `${word} looked at ${columns[j]}: ${percent(weight)}` })));
}

/** The blackboard translator of chapter 2, computed here. */
async function blackboard() {
  const source = ["the", "cat", "sleeps"];
  const { numbers, words } = write(await data("models/words-attention.json"), source);
  const weights = words.map((_, t) => source.map((__, i) => numbers.get(`a.${t + 1}.${i + 1}`).value));
  return { rows: words, columns: source, weights, by: "a model of 56 numbers" };
}
