// The decoder word by word: for each word written, the scores, the weights and the context it was written from.

import { button } from "./controls.js";
import { shadeStyles, signedShades } from "../viewer/colours.js";
import { h } from "../viewer/dom.js";
import { percent, short } from "../viewer/numbers.js";

const PACE = 1100; // milliseconds a word

export class Player {
  /**
   * `map` holds columns (source words), steps [{word, scores, weights, context}] and perhaps hidden columns;
   * `onStep(index)` when it moves.
   */
  constructor(map, { step = 0, onStep = () => {} } = {}) {
    this.steps = map.steps;
    this.onStep = onStep;
    this.names = this.steps.some(({ weights }) => weights?.length) ? map.columns : []; // none without attention
    this.at = Math.min(step, this.steps.length - 1);
    this.timer = null;
    this.build(map);
    this.show();
  }

  build(map) {
    this.words = map.steps.map(({ word }, i) =>
      h("span", { class: "written", dir: "auto", text: word, on: { click: () => this.go(i) } }),
    );
    this.play = button("▶ Play", () => this.toggle(), { class: "button primary play" });
    this.back = button("◀", () => this.go(this.at - 1), { "aria-label": "One word back" });
    this.next = button("▶", () => this.go(this.at + 1), { "aria-label": "One word on" });
    this.slider = h("input", {
      type: "range",
      min: "0",
      max: String(this.steps.length - 1),
      "aria-label": "Word of the translation",
      on: { input: () => this.go(Number(this.slider.value)) },
    });
    this.rows = this.names.map((name, j) => new SourceRow(name, map.hidden?.includes(j)));
    this.say = h("p", { class: "step-say", role: "status" });
    this.context = h("div", { class: "context-strip", role: "img" });
    this.contextName = h("p", { class: "rg-note" });
    this.element = h(
      "section",
      { class: "panel player", "aria-label": "The decoder, word by word", on: { keydown: (event) => this.key(event) } },
      h("h2", { text: "Word by word" }),
      h("p", { class: "sentence", dir: "auto" }, this.words),
      h("div", { class: "transport" }, this.back, this.play, this.next, this.slider),
      this.say,
      h(
        "div",
        {
          class: "source-scroll",
          tabindex: "0",
          role: "region",
          "aria-label": "Scores and weights of the source words",
        },
        h(
          "table",
          { class: "source" },
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              ["Source word", "Score", "Weight"].map((name) => h("th", { scope: "col", text: name })),
            ),
          ),
          h(
            "tbody",
            {},
            this.rows.map((row) => row.element),
          ),
        ),
      ),
      this.contextName,
      this.context,
    );
  }

  key(event) {
    const moved = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.target === this.slider && moved) return; // the slider moves by itself
    if (moved) this.go(this.at + moved);
    else if (event.key === " " && event.target.tagName !== "BUTTON") this.toggle();
    else return;
    event.preventDefault();
  }

  go(index) {
    this.pause();
    this.move(index);
  }

  move(index) {
    if (index < 0 || index >= this.steps.length) return;
    this.at = index;
    this.show();
    this.onStep(index);
  }

  toggle() {
    if (this.timer) {
      this.pause();
      return;
    }
    if (this.at === this.steps.length - 1) this.move(0);
    this.timer = setInterval(() => {
      this.move(this.at + 1);
      if (this.at === this.steps.length - 1) this.pause();
    }, PACE);
    this.play.textContent = "❚❚ Pause";
  }

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    this.play.textContent = "▶ Play";
  }

  show() {
    const { word, scores, weights, context, context_size: size } = this.steps[this.at];
    this.words.forEach((span, i) => {
      span.classList.toggle("now", i === this.at);
      span.classList.toggle("ahead", i > this.at);
    });
    this.slider.value = String(this.at);
    this.slider.setAttribute("aria-valuetext", `word ${this.at + 1} of ${this.steps.length}, ${word}`);
    this.back.disabled = this.at === 0;
    this.next.disabled = this.at === this.steps.length - 1;
    this.rows.forEach((row, j) => row.show(scores?.[j], weights?.[j]));
    this.say.textContent = weights?.length
      ? this.sentence(word, weights)
      : `Writes “${word}”. This model has no attention: nothing is looked at.`;
    this.showContext(context ?? [], size);
  }

  sentence(word, weights) {
    const best = weights.indexOf(Math.max(...weights));
    return `To write “${word}” it looks most at “${this.names[best]}” (${percent(weights[best])}).`;
  }

  showContext(context, size = context.length) {
    this.contextName.textContent = context.length
      ? `Context: what the source states give, mixed by these weights (${size > context.length ? `${context.length} of its ${size}` : `its ${size}`} numbers; blue above 0, orange below)`
      : "";
    this.context.hidden = !context.length;
    if (!context.length) return;
    this.context.setAttribute(
      "aria-label",
      `Context vector, from ${short(Math.min(...context))} to ${short(Math.max(...context))}`,
    );
    const [shade] = signedShades([context]);
    this.context.replaceChildren(
      ...context.map((x, i) => h("span", { title: short(x), style: shadeStyles(shade[i]) })),
    );
  }

  destroy() {
    this.pause();
  }
}

class SourceRow {
  constructor(name, isHidden = false) {
    this.isHidden = isHidden;
    this.score = h("td", { class: "number" });
    this.number = h("span", { class: "number" });
    this.bar = h("span", { class: "bar" });
    this.name = h("th", { scope: "row", dir: "auto" }, h(isHidden ? "s" : "span", { class: "source-word", text: name }));
    this.element = h(
      "tr",
      {},
      this.name,
      this.score,
      h("td", { class: "weight" }, h("span", {}, h("span", { class: "track" }, this.bar), this.number)),
    );
  }

  show(score, weight) {
    if (this.isHidden) {
      this.score.textContent = "hidden";
      this.number.textContent = "0";
      return;
    }
    this.score.textContent = score === undefined || score === null ? "" : short(score);
    this.number.textContent = weight === undefined ? "" : short(weight);
    this.bar.style.width = `${Math.max(0, Math.min(1, weight ?? 0)) * 100}%`;
    const lit = weight >= 0.1;
    Object.assign(this.name.firstChild.style, lit ? shadeStyles(weight) : { backgroundColor: "", color: "" });
  }
}
