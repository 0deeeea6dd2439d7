// The part of a map that is on screen, in rows and columns: {top, left, height, width}; panned, zoomed, kept inside.

const FEWEST = 6; // rows or columns on screen

export const wholeOf = ({ rows, columns }) => ({ top: 0, left: 0, height: rows, width: columns });

export function inside({ top, left, height, width }, { rows, columns }) {
  const length = (asked, size) => between(asked, Math.min(FEWEST, size), size);
  const [tall, wide] = [length(height, rows), length(width, columns)];
  return { top: between(top, 0, rows - tall), left: between(left, 0, columns - wide), height: tall, width: wide };
}

/** Larger by `factor` below 1, smaller above; the place (y, x), as shares of the window, stays where it is. */
export function zoomed(part, factor, [y, x], size) {
  const fit = inside({ ...part, height: part.height * factor, width: part.width * factor }, size);
  const [top, left] = [part.top + (part.height - fit.height) * y, part.left + (part.width - fit.width) * x];
  return inside({ ...fit, top, left }, size);
}

/** Moved just so far that a cell is on screen. */
export function showing(part, [row, column], size) {
  const near = (first, length, place) => between(first, place + 1 - length, place);
  return inside(
    { ...part, top: near(part.top, part.height, row), left: near(part.left, part.width, column) },
    size,
  );
}

/** Rows and columns of a cell, powers of two, so that a cell takes at least a pixel. */
export function levelOf(part, height, width) {
  const size = (weights, pixels) => 2 ** Math.max(0, Math.ceil(Math.log2(weights / Math.max(1, pixels)) - 1e-9));
  return [size(part.height, height), size(part.width, width)];
}

/** Numbers for an axis: round ones, at most one in so many pixels. */
export function ticks(first, length, pixels, apart = 70) {
  const least = (length / Math.max(1, pixels)) * apart;
  const unit = 10 ** Math.floor(Math.log10(least));
  const step = Math.max(1, [1, 2, 5, 10].map((n) => n * unit).find((n) => n >= least));
  const found = [];
  for (let n = Math.ceil(first / step) * step; n < first + length; n += step) found.push(n);
  return found;
}

export const between = (x, low, high) => Math.min(Math.max(x, low), high);
