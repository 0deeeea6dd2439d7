// What is on the screen as SVG, on white paper whatever the page's colours are.

import { topOf } from "../viewer/by.js";
import { colourOf, css, inkOn, signedShades } from "../viewer/colours.js";
import { plainFormula } from "../viewer/dom.js";
import { share, short } from "../viewer/numbers.js";
import { lightOf, paintHidden, paintVeil } from "../viewer/photo.js";

const SANS = "system-ui, 'Noto Sans', 'DejaVu Sans', sans-serif";
const MONO = "ui-monospace, 'DejaVu Sans Mono', monospace";
const SERIF = "'Cambria Math', Georgia, 'DejaVu Serif', serif";
const [INK, QUIET] = ["#17202e", "#4d5a6d"];
const PAGE = 1120;

/** The picture of data of any kind, as text. */
export async function toSvg(data) {
  const { width, height, body } = await picture(data);
  const [w, h] = [Math.ceil(width) + 32, Math.ceil(height) + 32];
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${w}" height="${h}" viewBox="-16 -16 ${w} ${h}" font-family="${SANS}">` +
    `<title>${escaped(data.title ?? data.text ?? "regard")}</title><rect x="-16" y="-16" width="100%" height="100%" fill="#fff"/>${body}</svg>`
  );
}

/** The same as a PNG of twice the size. */
export async function toPng(svg) {
  const address = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = document.createElement("canvas");
    Object.assign(canvas, { width: image.naturalWidth * 2, height: image.naturalHeight * 2 });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((done) => canvas.toBlob(done, "image/png"));
  } finally {
    URL.revokeObjectURL(address);
  }
}

async function picture(data) {
  if (data.kind === "several") return titled(data.title, flow(await Promise.all(data.parts.map(picture)), 36));
  if (data.kind === "steps") return titled(data.title, flow(data.tables.map(tablePicture), 28));
  if (data.kind === "photo") return titled(data.title ?? data.words.join(" "), await photoPicture(data));
  return titled(
    data.title,
    sentences(data, data.weights?.length ? mapPicture(data) : { width: 0, height: 0, body: "" }),
  );
}

/** The source and its translation above their map. */
function sentences({ source, text }, inner) {
  const lines = [source && [source, QUIET], text && [text, INK]].filter(Boolean);
  const body = lines.map(([words, fill], i) => label(0, 14 + i * 22, words, 14, { fill })).join("");
  const top = lines.length ? lines.length * 22 + 8 : 0;
  return {
    width: Math.max(inner.width, ...lines.map(([words]) => measure(words, 14))),
    height: inner.height + top,
    body: body + moved(inner.body, 0, top),
  };
}

function titled(title, inner) {
  if (!title) return inner;
  return {
    width: Math.max(inner.width, measure(title, 17, SANS, 600)),
    height: inner.height + 34,
    body: label(0, 17, title, 17, { weight: 600 }) + moved(inner.body, 0, 34),
  };
}

/** Boxes beside each other, on as many lines as they need. */
function flow(boxes, gap) {
  let [x, y, line, width, body] = [0, 0, 0, 0, ""];
  for (const box of boxes) {
    if (x > 0 && x + box.width > PAGE) [x, y, line] = [0, y + line + gap, 0];
    body += moved(box.body, x, y);
    x += box.width + gap;
    line = Math.max(line, box.height);
    width = Math.max(width, x - gap);
  }
  return { width, height: y + line, body };
}

function tablePicture(table) {
  const texts = table.values.map((row) => row.map(short));
  const cell = Math.max(52, ...texts.flat().map((text) => measure(text, 12, MONO) + 14));
  const left = table.rows ? Math.max(...table.rows.map((row) => measure(row, 12))) + 8 : 0;
  const named = measure(table.name, 13, SANS, 600) + 8;
  const top = table.columns ? 40 : 24;
  const shade = signedShades(table.values);
  let body =
    label(0, 13, table.name, 13, { weight: 600 }) + (table.formula ? formulaLabel(named, 13, table.formula) : "");
  table.columns?.forEach(
    (name, j) => (body += label(left + (j + 0.5) * cell, top - 6, name, 12, { anchor: "middle", fill: QUIET })),
  );
  table.values.forEach((row, i) => {
    if (table.rows) body += label(left - 8, top + i * 32 + 20, table.rows[i], 12, { anchor: "end", fill: QUIET });
    row.forEach((_, j) => (body += square(left + j * cell, top + i * 32, cell, 32, shade[i][j], texts[i][j])));
  });
  return {
    width: Math.max(
      left + cell * (table.values[0]?.length ?? 0),
      named + (table.formula ? measure(plainFormula(table.formula), 13, SERIF) : 0),
    ),
    height: top + table.values.length * 32,
    body,
  };
}

function mapPicture({ rows, columns, weights, needed, by, hidden = [] }) {
  const isNeeded = by === "needed" && needed;
  const shown = isNeeded ? needed : weights;
  const cell = Math.max(16, Math.min(42, 900 / columns.length));
  const size = Math.max(10, Math.min(14, cell * 0.45));
  const left = Math.max(0, ...rows.map((word) => measure(word, size))) + 8;
  const slanted = Math.max(0, ...columns.map((word) => measure(word, size))) * Math.SQRT1_2;
  const top = slanted + size + 6;
  const most = topOf(shown, isNeeded);
  let body = columns
    .map((word, j) =>
      label(0, 0, word, size, { at: `translate(${fixed(left + (j + 0.5) * cell)} ${fixed(top - 6)}) rotate(-45)` }),
    )
    .join("");
  rows.forEach((word, i) => {
    body += label(left - 8, top + (i + 0.5) * cell + size * 0.35, word, size, { anchor: "end" });
    columns.forEach((_, j) => {
      const number = cell >= 30 && !hidden.includes(j) ? share(shown[i][j]) : "";
      const shade = hidden.includes(j) ? NaN : Math.max(0, shown[i][j]) / most;
      body += square(left + j * cell, top + i * cell, cell, cell, shade, number);
    });
  });
  const bottom = top + cell * rows.length;
  return {
    width: Math.max(left + cell * columns.length + slanted, left + 130),
    height: bottom + 30,
    body: body + moved(scaleBar(most, isNeeded ? " nats" : ""), left, bottom + 14),
  };
}

/** The colours from 0 to the most. */
function scaleBar(most, unit) {
  const steps = Array.from({ length: 24 }, (_, i) => {
    const colour = css(colourOf(i / 23));
    return `<rect x="${fixed(12 + i * 3)}" y="2" width="3.2" height="9" fill="${colour}"/>`;
  });
  const words = { fill: QUIET };
  return label(0, 11, "0", 11, words) + steps.join("") + label(90, 11, `${Number(most.toPrecision(6))}${unit}`, 11, words);
}

async function photoPicture(data) {
  const image = new Image();
  image.src = data.image;
  await image.decode();
  const height = 150;
  const width = Math.round((height * image.naturalWidth) / image.naturalHeight) || height;
  const frames = data.words.map((word, i) => {
    const canvas = document.createElement("canvas");
    Object.assign(canvas, { width: width * 2, height: height * 2 });
    const pen = canvas.getContext("2d");
    pen.drawImage(image, 0, 0, canvas.width, canvas.height);
    if (data.by === "needed" && data.needed) paintVeil(pen, lightOf(data.needed[i]), false, canvas.width, canvas.height);
    else paintVeil(pen, data.weights[i], data.hard, canvas.width, canvas.height);
    paintHidden(pen, data, canvas.width, canvas.height);
    return {
      width,
      height: height + 24,
      body:
        `<image width="${width}" height="${height}" href="${canvas.toDataURL("image/jpeg", 0.9)}"/>` +
        label(width / 2, height + 18, word, 14, { anchor: "middle" }),
    };
  });
  return flow(frames, 14);
}

function square(x, y, width, height, shade, text) {
  const colour = colourOf(shade);
  const box = `<rect x="${fixed(x + 0.5)}" y="${fixed(y + 0.5)}" width="${fixed(width - 1)}" height="${fixed(height - 1)}" rx="3" fill="${css(colour)}"/>`;
  if (!text) return box;
  return (
    box +
    label(x + width / 2, y + height / 2 + 4, text, Math.min(12, width / 3.4 > 12 ? 12 : 11), {
      anchor: "middle",
      fill: inkOn(colour),
      font: MONO,
    })
  );
}

function label(x, y, text, size, { anchor, fill = INK, weight, font, at } = {}) {
  const extra = [
    anchor && `text-anchor="${anchor}"`,
    weight && `font-weight="${weight}"`,
    font && `font-family="${font}"`,
  ]
    .filter(Boolean)
    .join(" ");
  const where = at ? `transform="${at}"` : `x="${fixed(x)}" y="${fixed(y)}"`;
  return `<text ${where} font-size="${fixed(size)}" fill="${fill}" ${extra}>${escaped(text)}</text>`;
}

/** Maths with its variables slanted and its marks below or above the line. */
function formulaLabel(x, y, text) {
  const pieces = text.matchAll(/\*([^*]+)\*|_\{([^}]*)\}|\^\{([^}]*)\}|([^*_^]+|[*_^])/g);
  const spans = [...pieces].map(([, variable, below, above, plain]) => {
    if (variable) return `<tspan font-style="italic">${escaped(variable)}</tspan>`;
    if (plain) return `<tspan>${escaped(plain)}</tspan>`;
    const shift = below !== undefined ? 3 : -4;
    return `<tspan dy="${shift}" font-size="9">${escaped(below ?? above)}</tspan><tspan dy="${-shift}">\u200b</tspan>`;
  });
  return `<text x="${fixed(x)}" y="${y}" font-size="13" fill="${QUIET}" font-family="${SERIF}" xml:space="preserve">${spans.join("")}</text>`;
}

const moved = (body, x, y) => `<g transform="translate(${fixed(x)} ${fixed(y)})">${body}</g>`;

const fixed = (x) => String(Math.round(x * 100) / 100);

let pen = null;

function measure(text, size, font = SANS, weight = 400) {
  pen ??= document.createElement("canvas").getContext("2d");
  pen.font = `${weight} ${size}px ${font}`;
  return pen.measureText(text).width;
}

// Characters that XML does not allow are left out: a picture that cannot be opened helps nobody.
function escaped(text) {
  const entities = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return String(text)
    // oxlint-disable-next-line no-control-regex
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "")
    .toWellFormed()
    .replace(/[&<>"]/g, (mark) => entities[mark]);
}
