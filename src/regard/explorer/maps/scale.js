// From weights to colours: linear or logarithmic, up to the largest weight on screen, with or without the sink.

import { colourOf, scaleTop } from "../viewer/colours.js";

export const DECADES = 4; // of the logarithmic scale, below its top
const STEPS = 512;

/** The weight of the deepest colour: a round number above the largest on screen. */
export function topOf(tiles, withoutSink) {
  const most = tiles.reduce((top, tile) => (tile.values ? Math.max(top, withoutSink ? tile.rest : tile.most) : top), 0);
  return most > 0 ? scaleTop([[most]]) : 1;
}

/** The shade of a weight, 0 to 1. */
export function shadeOf(weight, top, log) {
  if (!log) return Math.min(1, weight / top);
  return weight > 0 ? Math.min(1, Math.max(0, 1 + Math.log10(weight / top) / DECADES)) : 0;
}

/** A tile's numbers as a canvas of as many pixels; made again only when they, the scale or the page change. */
export function painted(tile, { top, log, dark }) {
  const key = `${tile.version} ${top} ${log} ${dark}`;
  if (tile.painted?.key === key) return tile.painted.canvas;
  const canvas = tile.painted?.canvas ?? document.createElement("canvas");
  Object.assign(canvas, { width: tile.width, height: tile.height });
  paint(canvas, tile.values, { top, log, dark });
  tile.painted = { key, canvas };
  return canvas;
}

export function paint(canvas, values, { top, log, dark }) {
  const pen = canvas.getContext("2d");
  const image = pen.createImageData(canvas.width, canvas.height);
  const pixels = new Uint32Array(image.data.buffer);
  const colours = palette(dark);
  for (let i = 0; i < values.length; i += 1)
    pixels[i] = colours[Math.round(shadeOf(values[i], top, log) * STEPS)] ?? colours[0];
  pen.putImageData(image, 0, 0);
}

const palettes = new Map();

function palette(dark) {
  if (!palettes.has(dark)) {
    const packed = Array.from({ length: STEPS + 1 }, (_, i) => {
      const [red, green, blue] = colourOf(i / STEPS, dark);
      return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
    });
    palettes.set(dark, Uint32Array.from(packed));
  }
  return palettes.get(dark);
}
