// A photograph under the captioners that are loaded, soft and hard in step: word by word, where each of them looked.

import { caption } from "../page/api.js";
import { button } from "../page/controls.js";
import { errorBox, modelsFor, noModels } from "../page/models.js";
import { keep, reduced } from "../page/photo_file.js";
import { h } from "../viewer/dom.js";
import { mountPhoto } from "../viewer/photo.js";

const SAMPLE = new URL("pictures/meadow.jpg", import.meta.url);

export function photographPanel(story) {
  const panel = new PhotographPanel(story.app);
  return { element: panel.element, close: () => panel.close() };
}

class PhotographPanel {
  constructor(app) {
    Object.assign(this, { app, mounted: [], at: 0 });
    this.element = h("section", { class: "live", "aria-label": "Real captioners" }, h("p", { class: "rg-note", text: "Asking for the models …" }));
    this.start();
  }

  close() {
    this.closed = true;
    this.request?.abort();
    this.forget();
  }

  forget() {
    this.mounted.forEach((photo) => photo.destroy());
    this.mounted = [];
  }

  async start() {
    const all = await this.app.models();
    if (this.closed) return;
    this.models = modelsFor(all, "caption");
    if (!this.models.length) {
      this.element.replaceChildren(noModels("caption", all));
      return;
    }
    const file = h("input", { type: "file", accept: "image/*", class: "unseen", id: "stage-photo", on: { change: () => this.take(file.files[0]) } });
    this.back = button("◀ Word", () => this.go(this.at - 1));
    this.next = button("Word ▶", () => this.go(this.at + 1), { class: "button primary" });
    this.output = h("div", { class: "pair photographs", role: "status" }, h("p", { class: "rg-note", text: "Looking at the picture …" }));
    this.element.replaceChildren(
      h("div", { class: "turns" }, this.back, this.next, file, h("label", { class: "button", for: "stage-photo", text: "A photograph of yours" }),
        h("a", { class: "button quiet", href: "/caption", "data-view": "caption", text: "Open in Caption" })),
      this.output,
    );
    this.send(await (await fetch(SAMPLE)).blob());
  }

  async take(file) {
    if (file) this.send(await reduced(file));
  }

  async send(photo) {
    this.request?.abort();
    const { signal } = (this.request = new AbortController());
    keep(photo);
    this.output.setAttribute("aria-busy", "true");
    const answers = await Promise.allSettled(this.models.map((model) => caption(model.name, photo, signal)));
    if (signal.aborted || this.closed) return;
    this.output.removeAttribute("aria-busy");
    this.show(answers);
  }

  show(answers) {
    this.forget();
    const boxes = this.models.map(({ label, attention }) => h("div", {}, h("h2", { text: `${label}: ${attention} attention` })));
    this.output.replaceChildren(...boxes);
    answers.forEach(({ value, reason }, i) => {
      if (reason) boxes[i].append(errorBox(reason.message));
      else this.mounted.push(mountPhoto(boxes[i], value, { onWord: (index) => index !== null && this.go(index) }));
    });
    this.go(0);
  }

  /** Show word number `at` of every caption; the last one of those that are shorter. */
  go(at) {
    const last = Math.max(...this.mounted.map(({ words }) => words.length), 1) - 1;
    this.at = Math.min(Math.max(at, 0), last);
    this.back.disabled = this.at === 0;
    this.next.disabled = this.at === last;
    for (const photo of this.mounted) {
      const word = Math.min(this.at, photo.words.length - 1);
      if (photo.kept !== word) photo.choose(word);
    }
  }
}
