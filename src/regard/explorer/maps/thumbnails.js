// Small maps of every head, a row a layer: what is clicked is shown large.

import { isDark } from "../viewer/colours.js";
import { h, onScheme } from "../viewer/dom.js";
import { paint, topOf } from "./scale.js";
import { isLog } from "./state.js";

/** `ask(name)` gives the numbers of a module's heads; `onPick(map, head)` is told of a click. */
export class Thumbnails {
  constructor({ maps, labels, ask, onPick }) {
    Object.assign(this, { maps, labels, ask, onPick });
    this.cells = new Map();
    this.note = h("p", { class: "rg-note" });
    const rows = maps.map((map, i) =>
      h(
        "div",
        { class: "heads-row", role: "group", "aria-label": labels[i] },
        h("span", { class: "heads-layer", title: map.name, text: labels[i] }),
        map.heads.map((head) => this.cell(map, labels[i], head)),
      ),
    );
    this.box = h("div", { class: "heads-grid" }, rows);
    this.element = h("div", {}, this.box, this.note);
    this.stop = onScheme(() => this.cells.forEach((cell) => cell.numbers && this.paint(cell)));
  }

  say(text) {
    this.note.textContent = text;
  }

  destroy() {
    this.closed = true;
    this.stop();
  }

  cell(map, label, head) {
    const canvas = h("canvas", { width: 1, height: 1, "aria-hidden": "true" });
    const button = h(
      "button",
      {
        type: "button",
        class: "head",
        "aria-label": `${label}, head ${head}`,
        "aria-pressed": "false",
        title: `${label}, head ${head}`,
        on: { click: () => this.onPick(map, head) },
      },
      canvas,
      h("span", { class: "head-name", text: String(head) }),
    );
    this.cells.set(`${map.name} ${head}`, { button, canvas, label, head, log: isLog({ log: null }, map) });
    return button;
  }

  /** Ask for all small maps, one module after the other. */
  async fill() {
    let sampled = false;
    for (const map of this.maps) {
      try {
        const { values, shape, sampled: some } = await this.ask(map.name);
        if (this.closed) return;
        sampled ||= some;
        const [, height, width] = shape;
        map.heads.forEach((head, n) => {
          const numbers = values.subarray(n * height * width, (n + 1) * height * width);
          const cell = this.cells.get(`${map.name} ${head}`);
          Object.assign(cell, { numbers });
          Object.assign(cell.canvas, { width, height });
          this.paint(cell);
        });
      } catch (error) {
        if (!this.closed) this.say(`Small maps are missing: ${error.message}`);
        return;
      }
      this.say(sampled ? "Small maps are drawn from sampled rows." : "");
    }
    this.box.dataset.state = "drawn";
  }

  paint({ canvas, numbers, log }) {
    const most = numbers.reduce((top, x) => Math.max(top, x), 0);
    const top = topOf([{ values: numbers, most, rest: most }], false);
    paint(canvas, numbers, { top, log, dark: isDark(this.box) });
  }

  /** What each head does, as a word under it. */
  name(heads) {
    for (const { layer, head, name } of heads) {
      const cell = this.cells.get(`${layer} ${head}`);
      if (!cell) continue;
      const label = `${cell.label}, head ${head}: ${name}`;
      cell.button.setAttribute("aria-label", label);
      cell.button.title = label;
      cell.button.querySelector(".head-name").textContent = `${head} ${name}`;
    }
  }

  select(map, heads) {
    for (const [key, { button }] of this.cells)
      button.setAttribute("aria-pressed", String(heads.some((head) => key === `${map.name} ${head}`)));
  }
}
