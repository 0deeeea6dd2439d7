// A map of any size on a canvas: panned and zoomed by wheel, touch and keys, from the whole map to single weights.

import { isDark } from "../viewer/colours.js";
import { h, onScheme, onWidth } from "../viewer/dom.js";
import { NUMBERED, draw, marginsOf } from "./drawing.js";
import { Gestures } from "./gestures.js";
import { topOf } from "./scale.js";
import { Tiles } from "./tiles.js";
import { inside, levelOf, showing, wholeOf, zoomed } from "./window.js";

const TALLEST = 760;
const KEYS =
  "Arrow keys move the cursor, with Shift by a screen; plus and minus zoom; Home shows the whole map; " +
  "Enter pins the cell, Escape lets it go.";

/**
 * `source`: {size: {rows, columns}, heads, numbers(request), profile(axis, place, span, bins), row, column: Labels}.
 * Options: part, pin [row, column], by, log, withoutSink; onMove(), onCell(cell), onProgress(share), onError(error).
 */
export class BigMap {
  constructor(source, options) {
    Object.assign(this, { source, cursor: null, pin: null, precise: null, profiles: {} });
    Object.assign(this, { by: "max", log: false, withoutSink: false, found: { axis: "column", places: [] } }, options);
    this.part = inside(options.part ?? wholeOf(source.size), source.size);
    this.tiles = this.newTiles();
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.element = h("div", {
      class: "big-map",
      tabindex: "0",
      role: "application",
      "aria-label": `${options.name}, ${source.size.rows} queries by ${source.size.columns} keys. ${KEYS}`,
    });
    this.element.append(this.canvas);
    this.gestures = new Gestures(this);
    if (options.at) this.setPin(options.at);
  }

  watch() {
    const ends = [onWidth(this.element, (width) => this.resize(width)), onScheme(() => this.redraw())];
    this.stop = () => ends.forEach((end) => end());
  }

  destroy() {
    this.tiles.close();
    this.stop?.();
    cancelAnimationFrame(this.drawing);
    clearTimeout(this.asking);
    this.closed = true;
  }

  newTiles() {
    const { size, heads } = this.source;
    return new Tiles({
      ...size,
      heads,
      ask: (request) => this.source.numbers({ ...request, by: this.by }),
      onChange: () => this.redraw(),
      onError: (error) => this.onError(error),
    });
  }

  /** Set how the weights are shown: {by, log, withoutSink, found}. */
  change(changes) {
    const pooled = changes.by !== undefined && changes.by !== this.by;
    Object.assign(this, changes);
    if (pooled) {
      this.tiles.close();
      this.tiles = this.newTiles();
    }
    this.redraw();
    this.askCell();
  }

  resize(width) {
    const margin = marginsOf(width);
    const { rows, columns } = this.source.size;
    const inner = Math.max(120, width - margin.left - margin.right);
    const most = Math.min(TALLEST, Math.max(280, window.innerHeight - 120));
    const tall = Math.min(most, Math.max(Math.min(inner, 180), (inner * rows) / columns));
    const wide = rows === columns ? Math.min(inner, tall) : inner;
    this.outer = { width: margin.left + wide + margin.right, height: margin.top + tall + margin.bottom };
    this.frame = { x: margin.left, y: margin.top, width: wide, height: tall };
    const ratio = window.devicePixelRatio || 1;
    Object.assign(this.canvas, { width: this.outer.width * ratio, height: this.outer.height * ratio });
    Object.assign(this.canvas.style, { width: `${this.outer.width}px`, height: `${this.outer.height}px` });
    this.ratio = ratio;
    this.redraw();
    this.askCell();
  }

  moveTo(part) {
    this.part = inside(part, this.source.size);
    this.precise = null;
    const { cursor } = this;
    if (cursor) this.cursor = this.cellOf(cursor.row + (cursor.down - 1) / 2, cursor.column + (cursor.across - 1) / 2);
    this.redraw();
    this.askCell();
    this.onMove();
  }

  zoom(factor, at = this.centre()) {
    this.moveTo(zoomed(this.part, factor, at, this.source.size));
  }

  /** Where zooming by keys and buttons goes: the cursor or pin when on screen, else the middle. */
  centre() {
    const cell = this.cursor ?? this.pin;
    if (!cell) return [0.5, 0.5];
    const y = (cell.row + cell.down / 2 - this.part.top) / this.part.height;
    const x = (cell.column + cell.across / 2 - this.part.left) / this.part.width;
    return [y, x].every((place) => place >= 0 && place <= 1) ? [y, x] : [0.5, 0.5];
  }

  whole() {
    this.moveTo(wholeOf(this.source.size));
  }

  /** The cell under a point of the canvas, or null. */
  cellAt(x, y) {
    const [right, down] = [(x - this.frame.x) / this.frame.width, (y - this.frame.y) / this.frame.height];
    if (!(right >= 0 && right < 1 && down >= 0 && down < 1)) return null;
    return this.cellOf(this.part.top + down * this.part.height, this.part.left + right * this.part.width);
  }

  /** The cell of the present level around a row and a column. */
  cellOf(row, column) {
    const { rows, columns } = this.source.size;
    const [down, across] = this.level();
    const [top, left] = [Math.floor(row / down) * down, Math.floor(column / across) * across];
    return { row: top, column: left, down: Math.min(down, rows - top), across: Math.min(across, columns - left) };
  }

  level() {
    return this.frame ? levelOf(this.part, this.frame.height, this.frame.width) : [1, 1];
  }

  setCursor(cell) {
    const same = cell && this.cursor && cell.row === this.cursor.row && cell.column === this.cursor.column;
    if (same && cell.down === this.cursor.down) return;
    this.cursor = cell;
    this.redraw();
    this.askCell();
  }

  /** Move the cursor by cells; the map follows. */
  step(rows, columns) {
    const { size } = this.source;
    const [down, across] = this.level();
    const { top, left, height, width } = this.part;
    const start = this.cursor ?? this.pin ?? { row: top + height / 2, column: left + width / 2 };
    const row = Math.min(size.rows - 1, Math.max(0, start.row + rows * down));
    const column = Math.min(size.columns - 1, Math.max(0, start.column + columns * across));
    const part = showing(this.part, [row, column], size);
    if (part.top !== this.part.top || part.left !== this.part.left) this.moveTo(part);
    this.setCursor(this.cellOf(row, column));
  }

  setPin(place) {
    this.pin = place ? { row: place[0], column: place[1], down: 1, across: 1 } : null;
    this.redraw();
    this.askCell();
    this.onPin(this.pin);
  }

  /** Pin the cell under the cursor; of a cell that stands for many, its strongest weight. */
  async pinCursor() {
    const cell = this.cursor;
    if (!cell) return;
    this.setPin(await this.strongestIn(cell));
  }

  async strongestIn({ row, column, down, across }) {
    if (down * across === 1) return [row, column];
    const step = [Math.ceil(down / 256), Math.ceil(across / 256)];
    const place = { rows: [row, row + down], columns: [column, column + across] };
    const { values, shape } = await this.source.numbers({ ...place, cell: step, by: "max", precise: true });
    const best = values.indexOf(values.reduce((most, x) => Math.max(most, x), 0));
    const [y, x] = [Math.floor(best / shape[1]), best % shape[1]];
    if (Math.max(...step) === 1) return [row + y, column + x];
    const inner = { row: row + y * step[0], column: column + x * step[1] };
    const size = [Math.min(step[0], row + down - inner.row), Math.min(step[1], column + across - inner.column)];
    return this.strongestIn({ ...inner, down: size[0], across: size[1] });
  }

  redraw() {
    if (this.closed || !this.frame) return;
    cancelAnimationFrame(this.drawing);
    this.drawing = requestAnimationFrame(() => this.draw());
  }

  draw() {
    const level = this.level();
    const tiles = this.tiles.cover(level, this.part);
    const dark = isDark(this.element);
    const shown = tiles.some((tile) => tile.values) ? tiles : this.tiles.coarser(level);
    this.top = topOf(shown, this.withoutSink);
    const pen = this.canvas.getContext("2d");
    pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    const { row, column } = this.source;
    draw(pen, {
      ...this.frame,
      ...{ outer: this.outer, part: this.part, tiles, coarser: this.tiles.coarser(level) },
      ...{ scale: { top: this.top, log: this.log, dark }, colours: this.colours(), precise: this.precise },
      ...{ cursor: this.cursor, pin: this.pin, active: this.active(), profiles: this.profiles, found: this.found },
      labels: { row: (place) => row.at(place), column: (place) => column.at(place) },
    });
    this.fetchPrecise(level);
    const share = this.tiles.progress(tiles);
    this.element.dataset.state = share >= 1 ? "exact" : tiles.every((tile) => tile.values) ? "sampled" : "waiting";
    this.onProgress(share, this.element.dataset.state);
  }

  /** The page's own colours, which a canvas does not know by name. */
  colours() {
    this.probe ??= this.element.appendChild(h("span", { class: "unseen", "aria-hidden": "true" }));
    const read = (name) => {
      this.probe.style.color = `var(--rg-${name})`;
      return getComputedStyle(this.probe).color;
    };
    const names = ["ink", "paper", "raised", "edge", "accent", "target", "source"];
    return Object.fromEntries(names.map((name) => [name, read(name)]));
  }

  /** What the profiles and the text are about: the pin, else the cursor. */
  active() {
    return this.pin ?? this.cursor;
  }

  /** Exact numbers for the cells, once they are large enough to hold them. */
  async fetchPrecise(level) {
    const each = Math.min(this.frame.height / this.part.height, this.frame.width / this.part.width);
    if (level[0] * level[1] > 1 || each < NUMBERED || this.precise) return;
    const { rows, columns } = this.source.size;
    const [top, left] = [Math.floor(this.part.top), Math.floor(this.part.left)];
    const bottom = Math.min(rows, Math.ceil(this.part.top + this.part.height));
    const right = Math.min(columns, Math.ceil(this.part.left + this.part.width));
    const mine = (this.precise = { top, left, height: 0, width: right - left, values: [] });
    try {
      const { values } = await this.source.numbers({ rows: [top, bottom], columns: [left, right], precise: true });
      Object.assign(mine, { values, height: bottom - top });
      if (mine === this.precise) this.redraw();
    } catch (error) {
      this.onError(error);
    }
  }

  /** Ask for what the cursor and the pin need: the exact number and the two profiles, when they have come to rest. */
  askCell() {
    clearTimeout(this.asking);
    this.asking = setTimeout(() => this.tellCell().catch((error) => this.closed || this.onError(error)), 45);
  }

  async tellCell() {
    const [cell, active] = [this.cursor ?? this.pin, this.active()];
    const mine = (this.telling = {});
    const latest = () => mine === this.telling && !this.closed;
    if (!cell) {
      this.profiles = {};
      this.onCell(null);
      this.redraw();
      return;
    }
    const { row, column, down, across } = cell;
    const place = { rows: [row, row + down], columns: [column, column + across] };
    const { values } = await this.source.numbers({ ...place, cell: [down, across], by: this.by, precise: true });
    await Promise.all([this.source.row.load(row, row + 1), this.source.column.load(column, column + 1)]);
    if (latest()) this.onCell({ ...cell, weight: values[0] });
    if (latest()) await this.fetchProfiles(active, latest);
  }

  async fetchProfiles(active, latest) {
    const { part, source } = this;
    const span = (first, length, size) => [Math.floor(first), Math.min(size, Math.ceil(first + length))];
    const across = span(part.left, part.width, source.size.columns);
    const along = span(part.top, part.height, source.size.rows);
    const bins = Math.min(1024, Math.ceil(this.frame.width / 2));
    const [row, column] = await Promise.all([
      source.profile("row", active.row, across, bins),
      source.profile("column", active.column, along, bins),
    ]);
    if (!latest()) return;
    this.profiles = { row: { ...row, first: across[0] }, column: { ...column, first: along[0] } };
    this.redraw();
    this.onProfiles(active, this.profiles);
  }
}
