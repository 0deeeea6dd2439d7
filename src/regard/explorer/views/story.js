// Story: attention from one vector for a whole sentence on, one beat at a time. /story/look-back/4 is a beat.

import { Chapter, CHAPTERS } from "../stage/chapter.js";
import { Stage } from "../stage/stage.js";
import { sumLine } from "../stage/sum_line.js";
import { openPanel } from "../stage/panels.js";
import { button } from "../page/controls.js";
import { formula, h, onWidth } from "../viewer/dom.js";

export const TITLE = "Story";
export const BARE = true; // no heading above it, nothing to save

export function open(root, params, app, rest) {
  return new Story(root, params, app, rest);
}

class Story {
  constructor(root, params, app, [slug, beat]) {
    Object.assign(this, { root, params, app, width: 0, pinned: null, panel: null, at: Math.max(0, Number(beat) - 1 || 0) });
    this.slug = slug in CHAPTERS ? slug : Object.keys(CHAPTERS)[0];
    this.build();
    this.start();
  }

  close() {
    this.closed = true;
    this.unwatch?.();
    this.panel?.close?.();
    document.removeEventListener("keydown", this.onKey);
  }

  build() {
    this.stage = new Stage({ onPoint: (key, pin) => this.point(key, pin), onChoose: (key) => this.answer(key) });
    this.title = h("h1", { class: "story-title" });
    this.say = h("p", { class: "say", role: "status", "aria-live": "polite" });
    this.verdict = h("p", { class: "verdict" });
    this.sum = h("div", { class: "sum", role: "group", "aria-label": "The sum of a number" });
    this.below = h("div", { class: "stage-panel" });
    this.back = button("Back", () => this.go(this.at - 1), { class: "button turn" });
    this.next = button("Next", () => this.go(this.at + 1), { class: "button primary turn" });
    this.dots = h("ol", { class: "dots", "aria-label": "Beats of this chapter" });
    this.chapters = h("nav", { class: "chapters", "aria-label": "Chapters" }, Object.entries(CHAPTERS).map(([slug, name]) =>
      h("a", { href: `/story/${slug}`, "data-view": `story/${slug}`, text: name })));
    const full = button("Full screen", () => this.full(), { class: "button quiet", "aria-keyshortcuts": "f" });
    const words = h("div", { class: "story-text" },
      this.chapters, this.title, this.say, this.verdict, h("div", { class: "turns" }, this.back, this.next, full), this.dots);
    this.scene = h("div", { class: "story-scene" }, this.stage.element, this.sum, this.below);
    this.body = h("div", { class: "story" }, words, this.scene);
    this.body.classList.toggle("embed", this.params.has("embed"));
    document.documentElement.classList.toggle("embedded", this.params.has("embed"));
    this.onKey = (event) => this.key(event);
    document.addEventListener("keydown", this.onKey);
    this.swipe();
  }

  async start() {
    this.chapter = await Chapter.load(this.slug, this.params);
    if (this.closed) return;
    this.at = Math.min(this.at, this.chapter.beats.length - 1);
    this.dots.replaceChildren(...this.chapter.beats.map((_, i) => this.dot(i)));
    this.root.replaceChildren(this.body); // whole, so that nothing moves while it loads
    this.unwatch = onWidth(this.stage.element, (width) => {
      this.width = width;
      this.show({ still: true });
    });
  }

  /** Back and forth in the history: another beat of this chapter is shown without opening it anew. */
  turn(params, [slug, beat]) {
    if (slug !== this.slug || !this.chapter) return false;
    this.at = Math.min(Math.max(0, Number(beat) - 1 || 0), this.chapter.beats.length - 1);
    this.reply = null;
    this.chapter.read(params);
    this.show({ history: true });
    return true;
  }

  dot(i) {
    const href = `/story/${this.slug}/${i + 1}`;
    const turn = (event) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
      event.preventDefault();
      this.go(i);
    };
    return h("li", {}, h("a", { href, "aria-label": `Beat ${i + 1} of ${this.chapter.beats.length}`, on: { click: turn } }));
  }

  /** Draw the beat, and say in the address which it is. */
  show({ still = false, push = false, history = false } = {}) {
    if (!this.width || this.closed) return;
    const { chapter, at } = this;
    const { scene, fresh, beat, trace } = chapter.scene(at, this.width);
    this.trace = trace;
    this.title.textContent = chapter.title;
    document.title = `${chapter.title} · regard`;
    this.say.replaceChildren(formula(chapter.filled(beat.say, trace)));
    this.verdict.replaceChildren(formula(this.reply ?? ""));
    this.stage.draw(scene, { choices: beat.ask ?? [], fresh: at ? fresh : [], still });
    this.stage.element.hidden = !scene.items.length;
    this.sum.hidden = !scene.items.some((item) => trace.numbers.has(item.key));
    this.point(null, false);
    this.panelOf(beat);
    [...this.dots.children].forEach((dot, i) => {
      if (i === at) dot.firstChild.setAttribute("aria-current", "step");
      else dot.firstChild.removeAttribute("aria-current");
    });
    this.back.disabled = at === 0 && !this.neighbour(-1);
    this.next.disabled = at === chapter.beats.length - 1 && !this.neighbour(1);
    for (const link of this.chapters.children) {
      if (link.dataset.view === `story/${this.slug}`) link.setAttribute("aria-current", "page");
    }
    if (!history) this.app.write(this.address(), { rest: [this.slug, at + 1], push });
  }

  address() {
    const params = this.chapter.address();
    if (this.params.has("embed")) params.set("embed", "");
    return params;
  }

  panelOf(beat) {
    const name = beat.panel ?? null;
    if (this.panel?.name === name) {
      this.panel?.update?.(this.chapter, this.trace);
      return;
    }
    this.panel?.close?.();
    this.panel = name && openPanel(name, this.below, this);
    if (!name) this.below.replaceChildren();
  }

  neighbour(step) {
    const slugs = Object.keys(CHAPTERS);
    return slugs[slugs.indexOf(this.slug) + step];
  }

  /** To another beat; beyond the last one to the next chapter. */
  go(at, reply = null) {
    if (!this.chapter) return;
    this.reply = reply;
    if (at >= 0 && at < this.chapter.beats.length) {
      this.at = at;
      this.pinned = null;
      this.show({ push: true });
      return;
    }
    const other = this.neighbour(at < 0 ? -1 : 1);
    if (other) this.app.visit(`story/${other}`);
  }

  /** An answer was pointed at: the next beat shows whether it is so. */
  answer(key) {
    const { beat } = this.chapter.scene(this.at, this.width);
    const right = this.chapter.right(beat, this.trace);
    this.go(this.at + 1, key === right ? "Yes." : `You pointed at ${this.chapter.nameOf(key, this.trace)}.`);
  }

  /** The sum of the number that is pointed at; what is pinned stays until something else is. */
  point(key, pin) {
    if (pin) this.pinned = this.pinned === key ? null : key;
    const shown = key ?? this.pinned;
    const number = shown && this.trace?.numbers.get(shown.replace(/^map\./, "a."));
    if (shown === this.summed && !pin && number) return;
    if (this.sum.contains(document.activeElement) && !key) return;
    this.summed = number ? shown : null;
    this.sum.replaceChildren(...(number ? sumLine(shown, number, this.chapter, this.trace, (path, value) => this.change(path, value)) : []));
    for (const element of this.stage.element.querySelectorAll(".pinned")) element.classList.remove("pinned");
    if (this.pinned) this.stage.items.get(this.pinned)?.classList.add("pinned");
  }

  /** A weight changed by the reader. */
  change(path, value) {
    const keep = this.pinned ?? this.summed;
    this.chapter.weights[path] = value;
    this.show({ still: true });
    if (keep) this.point(keep, false);
  }

  /** Other words to read, or another picture. */
  choose(source) {
    this.chapter.source = source;
    this.show();
  }

  look = (how) => {
    this.chapter.look = how;
    this.show();
  };

  key(event) {
    if (event.target.closest?.("input, select, textarea") || event.altKey || event.ctrlKey || event.metaKey) return;
    const onButton = event.target.closest?.("button, a");
    const turns = { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1 };
    if (event.key in turns) this.go(this.at + turns[event.key]);
    else if (event.key === " " && !onButton) this.go(this.at + 1);
    else if (event.key === "f") this.full();
    else return;
    event.preventDefault();
  }

  full() {
    if (document.fullscreenElement) document.exitFullscreen();
    else this.body.requestFullscreen?.().catch(() => this.app.notify("This browser does not fill the screen."));
  }

  swipe() {
    let from = null;
    const place = ({ clientX, clientY }) => [clientX, clientY];
    this.body.addEventListener("touchstart", (event) => (from = place(event.touches[0])), { passive: true });
    this.body.addEventListener("touchend", (event) => {
      if (!from || event.target.closest("input, select, .stage-panel")) return;
      const [x, y] = place(event.changedTouches[0]);
      const [across, down] = [x - from[0], y - from[1]];
      if (Math.abs(across) > 50 && Math.abs(down) < 40) this.go(this.at + (across < 0 ? 1 : -1));
      from = null;
    });
  }
}
