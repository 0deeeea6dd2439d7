// A photograph and its caption: pointing at a word shows where the model looked while it wrote it.
//
// Data: {kind: "photo", image, words, weights: words x rows x columns, hard}.

import { h, onWidth } from "./dom.js";
import { percent } from "./numbers.js";

const FINE = 56; // the veil is computed this fine, then stretched by the browser
const VEIL = 0.78 * 255; // of the light is taken where the model did not look, as in `regard.show.photos`

/** Options: word (chosen at the start), onWord(index or null). Gives {element, choose(index), destroy()}. */
export function mountPhoto(element, data, options = {}) {
  const photo = new Photo(data, options);
  element.append(photo.element);
  photo.watch();
  return photo;
}

class Photo {
  constructor(data, { word = null, onWord = () => {} }) {
    this.data = data;
    this.onWord = onWord;
    this.kept = word !== null && word < data.words.length ? word : null;
    this.shown = this.kept;
    this.image = h("img", {
      class: "rg-image",
      src: data.image,
      alt: `The photograph. Caption: ${data.words.join(" ")}`,
    });
    this.veil = h("canvas", { class: "rg-veil", "aria-hidden": "true" });
    this.words = data.words.map((word, i) =>
      h("span", {
        class: "rg-word",
        role: "option",
        dir: "auto",
        text: word,
        tabindex: i === (this.kept ?? 0) ? "0" : "-1",
        "aria-selected": String(i === this.kept),
      }),
    );
    this.list = h(
      "div",
      {
        class: "rg-words",
        role: "listbox",
        "aria-label": "Words of the caption. Arrow keys move, Space keeps a word, Escape lets it go.",
      },
      this.words,
    );
    this.frames = data.words.map(() => h("canvas", { width: 1, height: 1 }));
    this.strip = h(
      "div",
      { class: "rg-film", "aria-hidden": "true" },
      this.frames.map((frame, i) =>
        h("span", { class: "rg-frame" }, frame, h("span", { dir: "auto", text: data.words[i] })),
      ),
    );
    this.readout = h("output", { class: "rg-readout" });
    this.stage = h("div", { class: "rg-stage" }, this.image, this.veil);
    this.element = h("figure", { class: "rg-photo" }, this.list, this.stage, this.readout, this.strip);
    this.listen();
  }

  listen() {
    for (const items of [this.words, [...this.strip.children]]) {
      items.forEach((item, i) => {
        item.addEventListener("pointerenter", () => this.show(i));
        item.addEventListener("pointerleave", () => this.show(this.kept));
        item.addEventListener("click", () => this.choose(i === this.kept ? null : i));
      });
    }
    this.words.forEach((word, i) => {
      word.addEventListener("focus", () => this.show(i));
      word.addEventListener("blur", () => this.show(this.kept));
    });
    this.list.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    const at = this.words.indexOf(event.target);
    const next = {
      ArrowLeft: at - 1,
      ArrowUp: at - 1,
      ArrowRight: at + 1,
      ArrowDown: at + 1,
      Home: 0,
      End: this.words.length - 1,
    }[event.key];
    if (next !== undefined && this.words[next]) this.focus(next);
    else if (event.key === " " || event.key === "Enter") this.choose(at === this.kept ? null : at);
    else if (event.key === "Escape") this.choose(null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  focus(index) {
    this.words.forEach((word, i) => (word.tabIndex = i === index ? 0 : -1));
    this.words[index].focus();
  }

  choose(index) {
    this.kept = index;
    this.words.forEach((word, i) => word.setAttribute("aria-selected", String(i === index)));
    this.show(index);
    this.onWord(index);
  }

  show(index) {
    this.shown = index;
    this.words.forEach((word, i) => word.classList.toggle("rg-lit", i === index));
    [...this.strip.children].forEach((frame, i) => frame.classList.toggle("rg-lit", i === index));
    this.draw();
    this.readout.textContent =
      index === null
        ? "Point at a word to see where the model looked when it wrote it. Click to keep it."
        : `“${this.data.words[index]}” looked ${this.where(this.data.weights[index])}`;
  }

  where(grid) {
    const cells = grid.flatMap((row, i) => row.map((weight, j) => [weight, (i + 0.5) / grid.length, (j + 0.5) / row.length]));
    const total = cells.reduce((sum, [weight]) => sum + weight, 0) || 1;
    const [best, i, j] = cells.reduce((most, cell) => (cell[0] > most[0] ? cell : most));
    const down = ["at the top", "in the middle", "at the bottom"][Math.min(2, Math.floor(i * 3))];
    const across = [" left", "", " right"][Math.min(2, Math.floor(j * 3))];
    if (this.data.hard) return `only ${down}${across}`;
    const most = `${percent(best / total)} in one place`;
    const even = best / total < 2 / cells.length;
    return even ? `almost evenly everywhere (at most ${most})` : `most ${down}${across} (${most})`;
  }

  watch() {
    this.stop = onWidth(this.stage, () => this.draw());
    this.image.decode().then(
      () => {
        this.draw();
        this.film();
      },
      () => {
        this.readout.textContent = "The photograph cannot be shown.";
      },
    );
    this.show(this.shown);
  }

  destroy() {
    this.stop?.();
    this.element.remove();
  }

  draw() {
    const sharp = window.devicePixelRatio || 1;
    this.veil.width = Math.max(1, Math.round(this.image.clientWidth * sharp));
    this.veil.height = Math.max(1, Math.round(this.image.clientHeight * sharp));
    if (this.shown === null) return;
    paintVeil(
      this.veil.getContext("2d"),
      this.data.weights[this.shown],
      this.data.hard,
      this.veil.width,
      this.veil.height,
    );
  }

  film() {
    const height = 96;
    const width = Math.round((this.image.naturalWidth / this.image.naturalHeight) * height) || height;
    this.frames.forEach((frame, i) => {
      Object.assign(frame, { width: width * 2, height: height * 2 });
      Object.assign(frame.style, { width: `${width}px`, height: `${height}px` });
      const pen = frame.getContext("2d");
      pen.drawImage(this.image, 0, 0, frame.width, frame.height);
      paintVeil(pen, this.data.weights[i], this.data.hard, frame.width, frame.height);
    });
  }
}

/** Darken what was not looked at, as the figures do; hard attention gets a frame around its one place. */
export function paintVeil(pen, grid, hard, width, height) {
  const veil = document.createElement("canvas");
  const fine = hard ? grid : smooth(grid, FINE);
  const peak = Math.max(...fine.flat()) || 1;
  Object.assign(veil, { width: fine[0].length, height: fine.length });
  const pixels = new ImageData(veil.width, veil.height);
  fine.flat().forEach((weight, at) => pixels.data.set([0, 0, 0, VEIL * (1 - weight / peak)], at * 4));
  veil.getContext("2d").putImageData(pixels, 0, 0);
  pen.imageSmoothingEnabled = !hard;
  pen.imageSmoothingQuality = "high";
  pen.drawImage(veil, 0, 0, width, height);
  if (hard) frameBest(pen, grid, width, height);
}

function frameBest(pen, grid, width, height) {
  const [rows, columns] = [grid.length, grid[0].length];
  const flat = grid.flat();
  const best = flat.indexOf(Math.max(...flat));
  const [i, j] = [Math.floor(best / columns), best % columns];
  pen.strokeStyle = "#fff";
  pen.lineWidth = Math.max(2, width / 120);
  pen.strokeRect((j * width) / columns, (i * height) / rows, width / columns, height / rows);
}

/** The grid between its cells' centres, weighted by distance: no edges of cells remain. */
export function smooth(grid, size) {
  const near = (count) =>
    Array.from({ length: size }, (_, at) => {
      const place = ((at + 0.5) / size) * count - 0.5;
      const pull = Array.from({ length: count }, (_, cell) => Math.exp(-((cell - place) ** 2) / (2 * 0.55 ** 2)));
      const total = pull.reduce((sum, one) => sum + one, 0);
      return pull.map((one) => one / total);
    });
  const [down, across] = [near(grid.length), near(grid[0].length)];
  return down.map((rows) => {
    const mixed = grid[0].map((_, j) => rows.reduce((sum, pull, i) => sum + pull * grid[i][j], 0));
    return across.map((columns) => columns.reduce((sum, pull, j) => sum + pull * mixed[j], 0));
  });
}
