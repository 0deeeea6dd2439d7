// How good translations are by the length of the sentence, with attention and without: the figures of benchmarks/lengths.

import { data } from "./chapter.js";
import { h, onWidth } from "../viewer/dom.js";
import { spread } from "./layout.js";

const SVG = "http://www.w3.org/2000/svg";
const [HEIGHT, LEFT, BOTTOM] = [330, 34, 46];

export function lengthsPanel() {
  const picture = h("div", {});
  const element = h("figure", { class: "lengths" }, picture);
  let unwatch = null;
  data("chapters/lengths.json").then((found) => {
    element.append(table(found), h("figcaption", { class: "rg-note", text: found.source }));
    unwatch = onWidth(picture, (width) => picture.replaceChildren(chart(found, width)));
  });
  return { element, close: () => unwatch?.() };
}

function chart({ ranges, curves, most }, width) {
  const xs = spread(ranges.length, LEFT, width);
  const y = (bleu) => HEIGHT - BOTTOM - (bleu / most) * (HEIGHT - BOTTOM - 20);
  const drawn = svg("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, height: HEIGHT, class: "lengths-chart", "aria-hidden": "true" });
  for (let bleu = 0; bleu <= most; bleu += 10) {
    drawn.append(svg("line", { x1: LEFT, x2: width, y1: y(bleu), y2: y(bleu), class: "grid" }));
    drawn.append(svg("text", { x: LEFT - 8, y: y(bleu) + 5, "text-anchor": "end" }, String(bleu)));
  }
  ranges.forEach((range, i) => drawn.append(svg("text", { x: xs[i], y: HEIGHT - BOTTOM + 22, "text-anchor": "middle" }, range)));
  drawn.append(svg("text", { x: (LEFT + width) / 2, y: HEIGHT - 4, "text-anchor": "middle" }, "words in the sentence"));
  for (const { name, role, bleu, above } of curves) {
    drawn.append(svg("polyline", { points: bleu.map((value, i) => `${xs[i]},${y(value)}`).join(" "), class: `curve role-${role}` }));
    bleu.forEach((value, i) => drawn.append(svg("circle", { cx: xs[i], cy: y(value), r: 4.5, class: `point role-${role}` })));
    drawn.append(svg("text", { x: xs[3], y: y(bleu[3]) + (above ? -14 : 26), "text-anchor": "middle", class: `named role-${role}` }, name));
  }
  return drawn;
}

/** The same for those who cannot see the picture. */
function table({ ranges, curves }) {
  const row = (tag, cells) => h("tr", {}, cells.map((cell) => h(tag, { text: String(cell) })));
  return h("table", { class: "unseen" }, h("caption", { text: "BLEU by words in the sentence" }), row("th", ["translator", ...ranges]),
    curves.map(({ name, bleu }) => row("td", [name, ...bleu])));
}

function svg(tag, attributes, text) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  if (text) element.textContent = text;
  return element;
}
