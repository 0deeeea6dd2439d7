// The stage: draws a scene, and goes from one to the next without a jump. What stays, stays where it is; what is new moves in
// from what made it.
//
// A scene is {height, items, lines}. An item: {key, kind, role, letter, text, value, x, y, w, h, from, shade, label, href}
// with x and y its middle; a line: {key, role, width, points: [[x, y], ...]}.

import { shadeStyles } from "../viewer/colours.js";
import { formula, h } from "../viewer/dom.js";

const SVG = "http://www.w3.org/2000/svg";
const LEAVING = 240; // milliseconds, as in stage.css

export class Stage {
  /** `onPoint(key, pinned)` when a number is pointed at (null: no longer), `onChoose(key)` when it is an answer. */
  constructor({ onPoint, onChoose }) {
    Object.assign(this, { onPoint, onChoose, items: new Map(), lines: new Map(), choices: [] });
    this.wires = document.createElementNS(SVG, "svg");
    this.wires.setAttribute("class", "wires");
    this.wires.setAttribute("aria-hidden", "true");
    this.element = h("div", { class: "stage", role: "group", "aria-label": "The stage" }, this.wires);
  }

  /** Show a scene; `choices` are the keys that may be pointed at as an answer, `fresh` those that are new in this beat. */
  draw(scene, { choices = [], fresh = [], still = false } = {}) {
    this.element.style.height = `${scene.height}px`;
    this.element.classList.toggle("still", still);
    const wanted = new Map(scene.items.map((item) => [item.key, item]));
    for (const [key, element] of this.items) if (!wanted.has(key)) this.leave(key, element, still);
    for (const item of scene.items) this.place(item, wanted, { choices, isFresh: fresh.includes(item.key), still });
    this.order(scene.items);
    this.wire(scene.lines);
  }

  place(item, wanted, { choices, isFresh, still }) {
    let element = this.items.get(item.key);
    const isNew = !element;
    if (isNew) {
      element = this.made(item);
      this.items.set(item.key, element);
      const origin = this.items.get(item.from) && wanted.get(item.from);
      if (!still) enter(element, origin ?? item, item);
      this.element.append(element);
      if (!still) element.getBoundingClientRect(); // so that it is seen to move from there
    }
    fill(element, item);
    element.classList.remove("entering");
    move(element, item);
    element.classList.toggle("fresh", isFresh);
    element.classList.toggle("choice", choices.includes(item.key));
  }

  made(item) {
    const tag = ["note", "slanted-note", "cell"].includes(item.kind) ? "div" : "button";
    const element = h(tag, { class: "thing", "data-key": item.key, type: tag === "button" ? "button" : null });
    const point = (pinned) => () => this.onPoint(item.key, pinned);
    element.addEventListener("pointerenter", point(false));
    element.addEventListener("pointerleave", () => this.onPoint(null, false));
    element.addEventListener("focus", point(false));
    element.addEventListener("click", () =>
      element.classList.contains("choice") ? this.onChoose(item.key) : this.onPoint(item.key, true),
    );
    return element;
  }

  leave(key, element, still) {
    this.items.delete(key);
    element.removeAttribute("data-key");
    element.inert = true;
    if (still) {
      element.remove();
      return;
    }
    element.classList.add("leaving");
    setTimeout(() => element.remove(), LEAVING);
  }

  /** Elements in the order in which a scene names them, so that Tab goes through it as one reads. */
  order(items) {
    const wanted = items.map((item) => this.items.get(item.key));
    const here = [...this.element.querySelectorAll(".thing:not(.leaving)")];
    if (wanted.some((element, i) => element !== here[i]) && !wanted.includes(document.activeElement))
      this.element.append(...wanted);
  }

  wire(lines) {
    const wanted = new Map(lines.map((line) => [line.key, line]));
    for (const [key, path] of this.lines) {
      if (wanted.has(key)) continue;
      path.remove();
      this.lines.delete(key);
    }
    for (const line of lines) {
      let path = this.lines.get(line.key);
      if (!path) {
        path = document.createElementNS(SVG, "path");
        this.lines.set(line.key, path);
        this.wires.append(path);
      }
      path.setAttribute("class", `wire role-${line.role}${line.isDim ? " dim" : ""}`);
      path.setAttribute("data-line", line.key);
      path.setAttribute("d", curve(line.points));
      path.style.strokeWidth = `${line.width ?? 1.5}px`;
    }
  }
}

function fill(element, item) {
  element.className = `thing kind-${item.kind} role-${item.role ?? "none"}${item.isDim ? " dim" : ""}`;
  Object.assign(element.style, { width: `${item.w}px`, height: `${item.h}px`, backgroundColor: "", color: "" });
  if (item.shade !== undefined) Object.assign(element.style, shadeStyles(item.shade));
  if (item.draws) element.classList.add(`draws-${item.draws}`);
  const written = `${item.letter ?? ""}|${item.text ?? ""}`;
  if (element.dataset.written !== written) {
    element.dataset.written = written;
    element.replaceChildren(
      ...(item.letter ? [h("span", { class: "letter" }, formula(item.letter))] : []),
      ...(item.text ? [h("span", { class: "text", dir: "auto", text: item.text })] : []),
    );
  }
  if (item.fills !== undefined) element.style.setProperty("--fills", String(Math.sqrt(item.fills)));
  if (item.label) element.setAttribute("aria-label", item.label);
  if (item.kind === "cell") element.setAttribute("role", "img");
}

function enter(element, origin, item) {
  fill(element, item);
  move(element, { ...item, x: origin.x, y: origin.y });
  element.classList.add("entering");
}

function move(element, { x, y, w, h: height }) {
  element.style.transform = `translate(${Math.round(x - w / 2)}px, ${Math.round(y - height / 2)}px)`;
}

/** A smooth line between two points, up or down at both; of three points, it leaves the first sideways. */
function curve(points) {
  const [[x0, y0], [x1, y1], last] = points;
  if (last) return `M${x0} ${y0}C${x1} ${y0} ${x1} ${y0} ${x1} ${y1}${down([x1, y1], last)}`;
  if (Math.abs(y1 - y0) < 2) return `M${x0} ${y0}L${x1} ${y1}`;
  return `M${x0} ${y0}${down(points[0], points[1])}`;
}

function down([x0, y0], [x1, y1]) {
  const bend = (y1 - y0) / 2;
  return `C${x0} ${y0 + bend} ${x1} ${y1 - bend} ${x1} ${y1}`;
}
