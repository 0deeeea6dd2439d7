// A huge map drawn on one canvas: its tiles, the axes, the profiles of a row and a column, the cursor and the pin.

import { colourOf, inkOn } from "../viewer/colours.js";
import { share, short } from "../viewer/numbers.js";
import { painted, shadeOf } from "./scale.js";
import { between, ticks } from "./window.js";

const LABELLED = 12; // pixels of a row or column that has a label
export const NUMBERED = 34; // of a cell that has its number in it
const ROOMY = 60; // of a cell that has room for four decimals
const FONT = "system-ui, 'Noto Sans', 'DejaVu Sans', sans-serif";

/** Space around the map: labels at the left and on top, profiles at the right and below. */
export const marginsOf = (width) =>
  width < 520 ? { left: 58, top: 66, right: 34, bottom: 48 } : { left: 96, top: 84, right: 64, bottom: 72 };

/** `frame`: {x, y, width, height} of the map, part, colours, and what stands on it. */
export function draw(pen, frame) {
  const { colours } = frame;
  pen.fillStyle = colours.paper;
  pen.fillRect(0, 0, frame.outer.width, frame.outer.height);
  pen.save();
  pen.beginPath();
  pen.rect(frame.x, frame.y, frame.width, frame.height);
  pen.clip();
  pen.fillStyle = colours.raised;
  pen.fillRect(frame.x, frame.y, frame.width, frame.height);
  drawTiles(pen, frame);
  drawNumbers(pen, frame);
  drawMarks(pen, frame);
  pen.restore();
  pen.strokeStyle = colours.edge;
  pen.lineWidth = 1;
  pen.strokeRect(frame.x - 0.5, frame.y - 0.5, frame.width + 1, frame.height + 1);
  drawRowAxis(pen, frame);
  drawColumnAxis(pen, frame);
  drawRowProfile(pen, frame);
  drawColumnProfile(pen, frame);
}

const xOf = ({ x, width, part }, column) => x + ((column - part.left) / part.width) * width;
const yOf = ({ y, height, part }, row) => y + ((row - part.top) / part.height) * height;

function drawTiles(pen, frame) {
  pen.imageSmoothingEnabled = false;
  for (const tile of [...frame.coarser, ...frame.tiles]) {
    if (!tile.values) continue;
    const [left, top] = [xOf(frame, tile.left), yOf(frame, tile.top)];
    // whole cells: the last ones of a tile may reach past its end
    const right = xOf(frame, tile.left + tile.width * tile.across);
    const bottom = yOf(frame, tile.top + tile.height * tile.down);
    if (right < frame.x || bottom < frame.y || left > frame.x + frame.width || top > frame.y + frame.height) continue;
    pen.drawImage(painted(tile, frame.scale), left, top, right - left, bottom - top);
  }
}

function drawNumbers(pen, frame) {
  const { precise, part, scale } = frame;
  const [cellHeight, cellWidth] = [frame.height / part.height, frame.width / part.width];
  if (!precise || Math.min(cellHeight, cellWidth) < NUMBERED) return;
  const format = cellWidth >= ROOMY ? short : share;
  pen.font = `12px ${FONT}`;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  for (let i = 0; i < precise.height; i += 1)
    for (let j = 0; j < precise.width; j += 1) {
      const weight = precise.values[i * precise.width + j];
      const text = format(weight);
      if (!text) continue;
      pen.fillStyle = inkOn(colourOf(shadeOf(weight, scale.top, scale.log), scale.dark));
      pen.fillText(text, xOf(frame, precise.left + j + 0.5), yOf(frame, precise.top + i + 0.5));
    }
}

function drawMarks(pen, frame) {
  const { cursor, pin, colours, found } = frame;
  pen.fillStyle = colours.source;
  for (const place of found.places) {
    if (found.axis === "column") pen.fillRect(xOf(frame, place + 0.5) - 1, frame.y, 2, 8);
    else pen.fillRect(frame.x, yOf(frame, place + 0.5) - 1, 8, 2);
  }
  for (const [cell, colour] of [
    [pin, colours.source],
    [cursor, colours.target],
  ]) {
    if (!cell) continue;
    const [x, y] = [xOf(frame, cell.column), yOf(frame, cell.row)];
    const [w, h] = [xOf(frame, cell.column + cell.across) - x, yOf(frame, cell.row + cell.down) - y];
    const grown = [Math.max(w, 5), Math.max(h, 5)];
    pen.strokeStyle = colour;
    pen.lineWidth = 2;
    pen.strokeRect(x + (w - grown[0]) / 2, y + (h - grown[1]) / 2, ...grown);
    pen.globalAlpha = 0.45;
    pen.lineWidth = 1;
    line(pen, frame.x, y + h / 2, frame.x + frame.width, y + h / 2);
    line(pen, x + w / 2, frame.y, x + w / 2, frame.y + frame.height);
    pen.globalAlpha = 1;
  }
}

function line(pen, ...[x, y, toX, toY]) {
  pen.beginPath();
  pen.moveTo(x, y);
  pen.lineTo(toX, toY);
  pen.stroke();
}

function drawRowAxis(pen, frame) {
  const { part, labels, colours, active } = frame;
  const each = frame.height / part.height;
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  const write = (row, text) => {
    const lit = active && row >= active.row && row < active.row + active.down;
    pen.font = `${lit ? 700 : 400} ${Math.min(13, Math.max(10.5, each * 0.8))}px ${FONT}`;
    pen.fillStyle = lit ? colours.accent : colours.ink;
    pen.fillText(fitting(pen, text, frame.x - 12), frame.x - 7, yOf(frame, row + 0.5));
  };
  for (const row of placesOf(part.top, part.height, frame.height, each)) {
    if (each >= LABELLED) write(row, labels.row(row));
    else {
      write(row, String(row));
      pen.fillStyle = colours.edge;
      pen.fillRect(frame.x - 5, yOf(frame, row + 0.5), 5, 1);
    }
  }
}

function drawColumnAxis(pen, frame) {
  const { part, labels, colours, active } = frame;
  const each = frame.width / part.width;
  for (const column of placesOf(part.left, part.width, frame.width, each)) {
    const lit = active && column >= active.column && column < active.column + active.across;
    pen.font = `${lit ? 700 : 400} ${Math.min(13, Math.max(10.5, each * 0.8))}px ${FONT}`;
    pen.fillStyle = lit ? colours.accent : colours.ink;
    pen.save();
    pen.translate(xOf(frame, column + 0.5), frame.y - 7);
    if (each >= LABELLED) {
      pen.rotate(-Math.PI / 2);
      pen.textAlign = "left";
      pen.textBaseline = "middle";
      pen.fillText(fitting(pen, labels.column(column), frame.y - 12), 0, 0);
    } else {
      pen.textAlign = "center";
      pen.textBaseline = "alphabetic";
      pen.fillText(String(column), 0, 0);
      pen.fillRect(0, 2, 1, 5);
    }
    pen.restore();
  }
}

/** Each place where there is room for its label, else round numbers. */
function placesOf(first, length, pixels, each) {
  if (each < LABELLED) return ticks(first, length, pixels);
  const from = Math.floor(first);
  return Array.from({ length: Math.ceil(first + length) - from }, (_, i) => from + i).filter(
    (place) => place + 0.5 > first && place + 0.5 < first + length,
  );
}

function fitting(pen, text, width) {
  if (pen.measureText(text).width <= width) return text;
  let end = text.length - 1;
  while (end > 1 && pen.measureText(`${text.slice(0, end)}…`).width > width) end -= 1;
  return `${text.slice(0, end)}…`;
}

/** Where the chosen row looks, below the map and on the same axis. */
function drawRowProfile(pen, frame) {
  const { profiles, colours, outer } = frame;
  if (!profiles?.row) return;
  const base = outer.height - 2;
  const room = base - frame.y - frame.height - 10;
  bars(profiles.row, frame.part.left, frame.part.width, frame.width, (from, to, share_) => {
    pen.fillStyle = colours.accent;
    pen.fillRect(frame.x + from, base - share_ * room, Math.max(1, to - from), share_ * room);
  });
}

/** Who looks at the chosen column, at the right of the map. */
function drawColumnProfile(pen, frame) {
  const { profiles, colours, outer } = frame;
  if (!profiles?.column) return;
  const base = frame.x + frame.width + 10;
  const room = outer.width - base - 2;
  bars(profiles.column, frame.part.top, frame.part.height, frame.height, (from, to, share_) => {
    pen.fillStyle = colours.accent;
    pen.fillRect(base, frame.y + from, share_ * room, Math.max(1, to - from));
  });
}

function bars({ first, cell, values }, start, length, pixels, bar) {
  const most = Math.max(...values, Number.MIN_VALUE);
  const at = (place) => between(((place - start) / length) * pixels, 0, pixels);
  values.forEach((value, i) => {
    const [from, to] = [at(first + i * cell), at(first + (i + 1) * cell)];
    if (value > 0 && to > from) bar(from, to, value / most);
  });
}
