// Where everything stands, on wide stages and on phones: x and y are middles, in pixels.

import { spread } from "./layout.js";

const STEPS = 5; // states of the writer that have room side by side, the first among them
const NARROW = 560;

/** A sentence: the reader's states side by side below, the writer's above, and a column for each word between them. */
export function wordsPlaces(trace, width) {
  const isNarrow = width < NARROW;
  // Heights of the rows, from above; on a phone a weight takes the place of its score.
  const hasMap = trace.numbers.has("a.1.1");
  const rows = isNarrow
    ? { height: hasMap ? 452 : 360, y: 22, s: 72, c: 124, w: 176, a: 228, e: 228, h: 280, x: 328 }
    : { height: 600, y: 26, s: 100, c: 190, w: 272, a: 346, e: 420, h: 504, x: 572 };
  const net = isNarrow || !hasMap ? width : width - 210;
  const [read, box] = [spread(trace.states, 0, net), isNarrow ? [60, 46] : [84, 50]];
  const chip = isNarrow ? [56, 44] : [70, 44];
  const size = { x: [90, 44], h: box, e: chip, a: chip, w: chip };
  return {
    height: rows.height,
    of: (name, i) => placed(read[i - 1], rows[name], size[name]),
    covers: (name, i) => (isNarrow && name === "a" ? i : null),
    letters: {
      h: (i) => `*h*_{${i}}`, e: (t, i) => `*e*_{${t}${i}}`, a: (t, i) => `*a*_{${t}${i}}`, g: "exp *e*", w: "*a*·*h*",
    },
    ...writer(trace, net, rows, box),
    answers: {
      short: placed(width * 0.27, rows.height * 0.45, [width * 0.42, 60]),
      long: placed(width * 0.73, rows.height * 0.45, [width * 0.42, 60]),
    },
    only: placed(spread(STEPS, 0, net)[2], (rows.c + rows.a) / 2, [Math.max(box[0], 96), box[1]]),
    map: isNarrow
      ? { left: 78, top: 372, across: 66, down: 19 }
      : { left: net + 60, top: 110, across: 46, down: 46 },
  };
}

/** A picture of 3 x 3 cells: beside it its numbers, the scores or weights, and the weighed numbers; the writer above. */
export function gridPlaces(trace, width) {
  const isNarrow = width < NARROW;
  const rows = isNarrow ? { y: 22, s: 72, c: 124, grid: 172 } : { y: 26, s: 100, c: 190, grid: 290 };
  const box = isNarrow ? [60, 46] : [84, 50];
  const cell = isNarrow ? [Math.min(58, Math.floor((width - 20) / 6)), 49] : [Math.min(60, Math.floor((width - 60) / 12)), 56];
  // On a phone two grids have room: in the left one numbers take the place of the picture, in the right one weights that of
  // the scores, and weighed numbers that of the weights.
  const column = isNarrow ? { pic: 0, h: 0, e: 1, a: 1, w: 1 } : { pic: 0, h: 1, e: 2, a: 2, w: 3 };
  const lefts = spread(isNarrow ? 2 : 4, 0, width).map((middle) => middle - 1.5 * cell[0]);
  const of = (name, i) => {
    const [row, across] = [Math.floor((i - 1) / 3), (i - 1) % 3];
    const gap = name === "pic" ? 0 : 4;
    return placed(
      lefts[column[name]] + (across + 0.5) * cell[0], rows.grid + (row + 0.5) * cell[1], [cell[0] - gap, cell[1] - gap],
    );
  };
  return {
    height: rows.grid + 3 * cell[1] + 14,
    picture: true,
    middle: 5,
    of,
    covers: (name, i) => {
      if (name === "a") return i;
      if (!isNarrow) return null;
      return name === "h" ? `pic.${i}` : i;
    },
    letters: {
      h: (i) => `*h*_{${cellName(i)}}`, e: (_, i) => `*e*_{${cellName(i)}}`, a: (_, i) => `*a*_{${cellName(i)}}`, g: "exp *e*", w: "*a*·*h*",
    },
    labels: Object.fromEntries(
      Object.keys(column).map((name) => [name, placed(lefts[column[name]] + 1.5 * cell[0], rows.grid - 14, [3 * cell[0], 20])]),
    ),
    labelCovers: isNarrow ? { h: "pic", a: "e", w: "a" } : { a: "e" },
    ...writer(trace, width, rows, box),
  };
}

function writer(trace, net, rows, [width, height]) {
  const columns = spread(Math.max(STEPS, trace.words.length + 1), 0, net);
  const room = columns[1] - columns[0];
  const sizes = { y: [room, 44], s: [Math.min(width, room - 8), height], c: [Math.min(width, room - 8), height] };
  return { written: (name, t) => placed(columns[t], rows[name], sizes[name]) };
}

/** Row and column of a cell, as they stand below its letter. */
const cellName = (i) => `${Math.ceil(i / 3)}${((i - 1) % 3) + 1}`;

const placed = (x, y, [w, h]) => ({ x, y, w, h });
