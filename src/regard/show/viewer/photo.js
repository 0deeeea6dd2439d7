// A photograph and its caption: pointing at a word shows where the model looked while it wrote it.
//
// Data: {kind: "photo", image, words, weights: words x rows x columns, hard, needed?, by?, hidden?: [[row, column]]}.

import { ByChoice, LEAST_NEEDED } from "./by.js";
import { h, onWidth } from "./dom.js";
import { percent, short } from "./numbers.js";

const FINE = 56; // the veil is computed this fine, then stretched by the browser
const VEIL = 0.78 * 255; // of the light is taken where the model did not look, as in `regard.show.photos`

/**
 * Options: word (chosen at the start), onWord(index or null), needed() and onBy(by) as for ByChoice. Gives {element,
 * stage (what lies over the photograph goes there), by, choose(index), destroy()}.
 */
export function mountPhoto(element, data, options = {}) {
  const photo = new Photo(data, options);
  element.append(photo.element);
  photo.watch();
  return photo;
}

class Photo {
  constructor(data, { word = null, onWord = () => {}, needed, onBy }) {
    this.data = data;
    this.onWord = onWord;
    this.by = new ByChoice(data, { needed, onBy }, (waiting) => this.turn(waiting));
    this.kept = word !== null && word < data.words.length ? word : null;
    this.shown = this.kept;
    this.image = h("img", {
      class: "rg-image",
      src: data.image,
      alt: `The photograph. Caption: ${data.words.join(" ")}`,
    });
    this.veil = h("canvas", { class: "rg-veil", "aria-hidden": "true" });
    this.words = data.words.map((text, i) =>
      h("span", {
        class: "rg-word",
        role: "option",
        dir: "auto",
        text,
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
    this.notes = data.words.map(() => h("span", { class: "rg-nats" }));
    this.strip = h(
      "div",
      { class: "rg-film", "aria-hidden": "true" },
      this.frames.map((frame, i) =>
        h("span", { class: "rg-frame" }, frame, h("span", { dir: "auto", text: data.words[i] }), this.notes[i]),
      ),
    );
    this.readout = h("output", { class: "rg-readout" });
    this.stage = h("div", { class: "rg-stage" }, this.image, this.veil);
    this.element = h("figure", { class: "rg-photo" }, this.by.element ?? "", this.list, this.stage, this.readout, this.strip);
    this.listen();
  }

  /** Draw the map that was chosen; or say what is being `waited` for. */
  turn(waited) {
    if (waited) {
      this.readout.textContent = waited;
      return;
    }
    this.show(this.shown);
    if (this.image.naturalWidth) this.film();
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
    this.readout.textContent = this.sentence(index);
  }

  sentence(index) {
    if (index === null)
      return this.by.isNeeded
        ? "Point at a word to see which places it needed: the log-probability, in nats, that it loses when the attention may not see them. Click to keep it."
        : "Point at a word to see where the model looked when it wrote it. Click to keep it.";
    const grid = this.by.numbers[index];
    return `“${this.data.words[index]}” ${this.by.isNeeded ? dearestPlace(grid) : `looked ${this.where(grid)}`}`;
  }

  where(grid) {
    const { best, cells, place } = strongestCell(grid);
    const total = cells.reduce((sum, weight) => sum + weight, 0) || 1;
    if (!best) return "nowhere: every place is hidden";
    if (this.data.hard) return `only ${place}`;
    const most = `${percent(best / total)} in one place`;
    const even = best / total < 2 / cells.length;
    return even ? `almost evenly everywhere (at most ${most})` : `most ${place} (${most})`;
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
    this.by.start();
  }

  destroy() {
    this.stop?.();
    this.element.remove();
  }

  draw() {
    const sharp = window.devicePixelRatio || 1;
    this.veil.width = Math.max(1, Math.round(this.image.clientWidth * sharp));
    this.veil.height = Math.max(1, Math.round(this.image.clientHeight * sharp));
    const pen = this.veil.getContext("2d");
    const { width, height } = this.veil;
    if (this.shown !== null) this.paint(pen, this.shown, width, height);
    paintHidden(pen, this.data, width, height);
  }

  paint(pen, index, width, height) {
    if (this.by.isNeeded) paintVeil(pen, lightOf(this.by.needed[index]), false, width, height);
    else paintVeil(pen, this.data.weights[index], this.data.hard, width, height);
  }

  film() {
    const height = 96;
    const width = Math.round((this.image.naturalWidth / this.image.naturalHeight) * height) || height;
    this.frames.forEach((frame, i) => {
      Object.assign(frame, { width: width * 2, height: height * 2 });
      Object.assign(frame.style, { width: `${width}px`, height: `${height}px` });
      const pen = frame.getContext("2d");
      pen.drawImage(this.image, 0, 0, frame.width, frame.height);
      this.paint(pen, i, frame.width, frame.height);
      paintHidden(pen, this.data, frame.width, frame.height);
      this.notes[i].textContent = this.by.isNeeded ? natsOf(this.by.needed[i]) : "";
    });
  }
}

/** The cell with the largest number, and where it is in words. */
function strongestCell(grid) {
  const cells = grid.flat();
  const best = Math.max(...cells);
  const at = cells.indexOf(best);
  const [i, j] = [(Math.floor(at / grid[0].length) + 0.5) / grid.length, ((at % grid[0].length) + 0.5) / grid[0].length];
  const down = ["at the top", "in the middle", "at the bottom"][Math.min(2, Math.floor(i * 3))];
  return { best, cells, place: `${down}${[" left", "", " right"][Math.min(2, Math.floor(j * 3))]}` };
}

/** What a word needed, in words. */
function dearestPlace(grid) {
  const { best, cells, place } = strongestCell(grid);
  const least = Math.min(...cells);
  const below = least <= -LEAST_NEEDED ? `; somewhere it becomes likelier, by ${short(-least)}` : "";
  if (best < LEAST_NEEDED) return `needs no place alone: hiding one costs at most ${short(Math.max(0, best))} nats${below}`;
  return `needs most what is ${place}: hiding it costs ${short(best)} nats, the brightest here${below}`;
}

const natsOf = (grid) => `${Math.max(0, ...grid.flat()).toFixed(2)} nats`;

/** What a word needed as light: from 0 on, and dark all over where nothing was needed. */
export function lightOf(grid) {
  const needs = Math.max(...grid.flat()) >= LEAST_NEEDED;
  return grid.map((row) => row.map((nats) => (needs ? Math.max(0, nats) : 0)));
}

/** Hatch the cells that could not be looked at. */
export function paintHidden(pen, { weights, hidden }, width, height) {
  if (!hidden?.length || !weights.length) return;
  const [rows, columns] = [weights[0].length, weights[0][0].length];
  const gap = Math.max(4, width / 48);
  pen.save();
  pen.beginPath();
  for (const [row, column] of hidden)
    pen.rect((column * width) / columns, (row * height) / rows, width / columns, height / rows);
  pen.clip();
  pen.fillStyle = "rgb(90 90 90 / 0.82)";
  pen.fillRect(0, 0, width, height);
  pen.strokeStyle = "rgb(255 255 255 / 0.55)";
  pen.lineWidth = gap / 5;
  pen.beginPath();
  for (let x = -height; x < width; x += gap) {
    pen.moveTo(x, height);
    pen.lineTo(x + height, 0);
  }
  pen.stroke();
  pen.restore();
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
