// A shipped translator on the stage: the pieces that it read below, those that it wrote above, lines as wide as weights.

import { translate } from "../page/api.js";
import { button, choice } from "../page/controls.js";
import { errorBox, hasAttention, modelChoices, modelsFor, noModels } from "../page/models.js";
import { h, onWidth } from "../viewer/dom.js";
import { percent, share } from "../viewer/numbers.js";
import { spread } from "./layout.js";
import { Stage } from "./stage.js";

const FIRST = "The black cat sleeps on the red chair.";
const MOST = 0.02; // of a weight that a line is drawn for

/** `first` is the sentence that it begins with; models without attention are left out unless `plain`. */
export function translatorPanel(story) {
  const panel = new TranslatorPanel(story);
  return { element: panel.element, close: () => panel.close() };
}

class TranslatorPanel {
  constructor(story) {
    Object.assign(this, { app: story.app, at: 0, width: 0, found: null });
    this.stage = new Stage({ onPoint: (key) => this.point(key), onChoose: () => {} });
    this.say = h("p", { class: "step-say", role: "status" });
    this.element = h("section", { class: "live", "aria-label": "A real translator" }, h("p", { class: "rg-note", text: "Asking for the models …" }));
    this.start();
  }

  close() {
    this.closed = true;
    this.unwatch?.();
    this.request?.abort();
  }

  async start() {
    const all = await this.app.models();
    if (this.closed) return;
    this.models = modelsFor(all, "translate").filter(hasAttention);
    if (!this.models.length) {
      this.element.replaceChildren(noModels("translate", all));
      return;
    }
    this.model = this.models[0].name;
    this.text = h("input", { type: "text", id: "live-sentence", maxlength: "120", value: FIRST, on: {
      keydown: (event) => event.key === "Enter" && this.ask(),
    } });
    this.back = button("◀ Word", () => this.go(this.at - 1));
    this.next = button("Word ▶", () => this.go(this.at + 1), { class: "button primary" });
    this.open = h("a", { class: "button quiet", "data-view": "translate", text: "Open in Translate" });
    this.error = h("div", {});
    this.element.replaceChildren(
      h("div", { class: "ask-line" }, h("label", { for: "live-sentence", text: "Sentence" }), this.text, button("Translate", () => this.ask())),
      this.models.length > 1 ? choice("Model", modelChoices(this.models), this.model, (name) => ((this.model = name), this.ask())) : "",
      this.error, this.stage.element, this.say, h("div", { class: "turns" }, this.back, this.next, this.open),
    );
    this.unwatch = onWidth(this.stage.element, (width) => ((this.width = width), this.draw(true)));
    this.ask();
  }

  async ask() {
    this.request?.abort();
    this.request = new AbortController();
    this.element.setAttribute("aria-busy", "true");
    try {
      this.found = await translate(this.model, this.text.value.trim() || FIRST, 5, this.request.signal);
      this.error.replaceChildren();
      this.at = 0;
      this.draw(true);
    } catch (error) {
      if (error.name !== "AbortError") this.error.replaceChildren(errorBox(error.message));
    }
    this.element.removeAttribute("aria-busy");
  }

  go(at) {
    this.at = Math.min(Math.max(at, 0), this.found.pieces.rows.length - 1);
    this.draw();
  }

  draw(still = false) {
    if (!this.found || !this.width) return;
    const { rows, columns, weights } = this.found.pieces;
    this.back.disabled = this.at === 0;
    this.next.disabled = this.at === rows.length - 1;
    this.open.href = `/translate?${new URLSearchParams({ text: this.text.value })}`;
    this.stage.draw(scene(rows, columns, weights, this.at, this.width), { still });
    const row = weights[this.at];
    const best = row.indexOf(Math.max(...row));
    this.say.textContent = `For “${plain(rows[this.at])}” it looks most at “${plain(columns[best])}” (${percent(row[best])}).`;
  }

  point(key) {
    const [name, i] = (key ?? "").split(".");
    if (name === "y" && this.found) this.go(Number(i) - 1);
  }
}

function scene(rows, columns, weights, at, width) {
  const isSlanted = width / Math.max(columns.length, rows.length) < 58;
  const [high, low] = isSlanted ? [70, 300] : [30, 300];
  const below = spread(columns.length, 0, width);
  const above = spread(rows.length, 0, width);
  const room = Math.min(90, width / Math.max(columns.length, rows.length));
  const row = weights[at];
  const items = [
    ...rows.map((piece, t) => ({
      key: `y.${t + 1}`, kind: isSlanted ? "slanted" : "word", role: "word", text: plain(piece), x: above[t], y: high, w: room,
      h: 44, isDim: t > at, label: `piece ${t + 1} that is written: ${plain(piece)}`,
    })),
    ...columns.map((piece, i) => ({
      key: `x.${i + 1}`, kind: "cell", role: "read", text: room > 30 ? share(row[i]) : "", shade: row[i], x: below[i], y: low - 34,
      w: room - 4, h: 26, label: `weight of ${plain(piece)}: ${share(row[i]) || 0}`,
    })),
    ...columns.map((piece, i) => ({
      key: `name.${i + 1}`, kind: isSlanted ? "slanted-note" : "note", text: plain(piece), x: below[i], y: isSlanted ? low + 30 : low, w: room, h: 22,
    })),
  ];
  const lines = columns
    .map((_, i) => ({ key: `line.${at}.${i}`, role: "back", width: 0.5 + 13 * row[i], points: [[below[i], low - 48], [above[at], high + 20]], weight: row[i] }))
    .filter(({ weight }) => weight > MOST);
  return { height: isSlanted ? 390 : 330, items, lines };
}

/** A piece as people read it: its mark of a word's start is left out, a piece inside a word has a hyphen before it. */
function plain(piece) {
  if (piece === "</s>") return "end";
  return piece.startsWith("\u2581") ? piece.slice(1) || "␣" : `-${piece}`;
}
