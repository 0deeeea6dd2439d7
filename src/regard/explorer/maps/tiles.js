// The tiles of a huge map: asked for as they come on screen, from sampled rows first where exact ones take long.

export const SIDE = 256; // cells
const AT_ONCE = 1 << 23; // weights that are asked for in one call: what else is asked waits no longer than for these
const UNDER_WAY = 2;
const KEPT = 160;
const COARSER = 4; // rows of a sample stand for so many rows of cells

/** A level is [rows, columns] of a cell, powers of two. `ask(request)` gives {values, shape}, `onChange()` is told. */
export class Tiles {
  constructor({ rows, columns, heads, ask, onChange, onError }) {
    Object.assign(this, { rows, columns, heads, ask, onChange, onError });
    this.known = new Map();
    this.wanted = [];
    this.underWay = 0;
    this.closed = false;
  }

  close() {
    this.closed = true;
  }

  /** The tiles of a level that cover a part {top, left, height, width}; those that are not there yet are fetched. */
  cover([down, across], { top, left, height, width }) {
    const found = [];
    const [first, last] = [Math.floor(top / down / SIDE), Math.ceil((top + height) / down / SIDE)];
    const [begin, end] = [Math.floor(left / across / SIDE), Math.ceil((left + width) / across / SIDE)];
    for (let y = Math.max(0, first); y < last; y += 1)
      for (let x = Math.max(0, begin); x < end; x += 1) {
        const tile = this.tile(down, across, y, x);
        if (tile) found.push(tile);
      }
    const away = (tile) =>
      Math.hypot(
        (tile.top + tile.bottom) / 2 - top - height / 2,
        (tile.left + tile.right) / 2 - left - width / 2,
      );
    this.wanted = [...found].sort((a, b) => away(a) - away(b));
    this.forget();
    this.pump();
    return found;
  }

  tile(down, across, y, x) {
    const key = `${down} ${across} ${y} ${x}`;
    const known = this.known.get(key);
    if (known) {
      this.known.delete(key);
      this.known.set(key, known); // the latest ones stand last
      return known;
    }
    const [top, left] = [y * SIDE * down, x * SIDE * across];
    if (top >= this.rows || left >= this.columns) return null;
    const [bottom, right] = [Math.min(this.rows, top + SIDE * down), Math.min(this.columns, left + SIDE * across)];
    const [height, width] = [Math.ceil((bottom - top) / down), Math.ceil((right - left) / across)];
    const tile = { key, down, across, top, left, bottom, right, height, width };
    Object.assign(tile, { values: null, exact: 0, asked: 0, sampling: false, version: 0 });
    this.known.set(key, tile);
    return tile;
  }

  forget() {
    for (const [key, tile] of this.known) {
      if (this.known.size <= KEPT) return;
      if (!this.wanted.includes(tile)) this.known.delete(key);
    }
  }

  /** All that is known and coarser than a level, coarsest first: it is seen until the finer tiles are there. */
  coarser([down, across]) {
    const isCoarser = (tile) => tile.down >= down && tile.across >= across && tile.down + tile.across > down + across;
    return [...this.known.values()]
      .filter((tile) => tile.values && isCoarser(tile))
      .sort((a, b) => b.down - a.down || b.across - a.across);
  }

  pump() {
    while (!this.closed && this.underWay < UNDER_WAY) {
      const next = this.next();
      if (!next) return;
      this.underWay += 1;
      next()
        .catch((error) => {
          this.wanted = [];
          if (!this.closed) this.onError(error);
        })
        .finally(() => {
          this.underWay -= 1;
          this.pump();
        });
    }
  }

  /** Something to see everywhere first, then the exact weights. */
  next() {
    const band = (tile) => this.bandOf(tile);
    const empty = this.wanted.find((tile) => !tile.values && !tile.sampling && !tile.asked && band(tile) < tile.height);
    if (empty) return () => this.sample(empty);
    const rough = this.wanted.find(
      (tile) => tile.asked < tile.height && (tile.values || band(tile) === tile.height),
    );
    return rough && (() => this.fetchBand(rough, band(rough)));
  }

  /** Rows of cells that one call may compute. */
  bandOf({ left, right, down, height }) {
    return Math.min(height, Math.max(1, Math.floor(AT_ONCE / ((right - left) * this.heads * down))));
  }

  async sample(tile) {
    tile.sampling = true;
    const cell = [tile.down * COARSER, tile.across];
    const asked = this.ask({ ...place(tile), cell, sampled: true }).finally(() => (tile.sampling = false));
    const { values } = await asked;
    const spread = new Float32Array(tile.height * tile.width);
    for (let y = 0; y < tile.height; y += 1) {
      const from = Math.floor(y / COARSER) * tile.width;
      spread.set(values.subarray(from, from + tile.width), y * tile.width);
    }
    this.changed(tile, spread);
  }

  async fetchBand(tile, rows) {
    const from = tile.asked;
    const to = Math.min(tile.height, from + rows);
    tile.asked = to;
    const [top, bottom] = [tile.top + from * tile.down, Math.min(tile.bottom, tile.top + to * tile.down)];
    try {
      const { values } = await this.ask({ ...place(tile), rows: [top, bottom], cell: [tile.down, tile.across] });
      const whole = tile.values ?? new Float32Array(tile.height * tile.width);
      whole.set(values, from * tile.width);
      tile.exact += to - from;
      this.changed(tile, whole);
    } catch (error) {
      tile.asked = from;
      throw error;
    }
  }

  changed(tile, values) {
    Object.assign(tile, { values, version: tile.version + 1 }, largest(tile, values));
    if (!this.closed) this.onChange();
  }

  /** The share of the cells on screen that are exact, 0 to 1; 1 when nothing is left to fetch. */
  progress(tiles) {
    const all = tiles.reduce((sum, tile) => sum + tile.height, 0);
    return all ? tiles.reduce((sum, tile) => sum + tile.exact, 0) / all : 1;
  }
}

const place = ({ top, bottom, left, right }) => ({ rows: [top, bottom], columns: [left, right] });

/** The largest number of a tile, and the largest without the map's first column. */
function largest({ left, width }, values) {
  let [most, rest] = [0, 0];
  for (let i = 0; i < values.length; i += 1) {
    if (values[i] > most) most = values[i];
    if (values[i] > rest && (left > 0 || i % width)) rest = values[i];
  }
  return { most, rest };
}
