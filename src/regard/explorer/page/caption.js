// Caption: a photograph, the words a model writes about it, and where each word looked.

import { caption } from "./api.js";
import { h } from "./dom.js";
import { mount } from "./map.js";
import { recall, remember } from "./memory.js";
import { busy, errorBox, modelsFor, noModels } from "./models.js";

export const TITLE = "Caption";
export const LEAD =
  "A photograph becomes a grid of features; a decoder writes a caption and, for each word, looks at some places of the grid more than at others.";
const KEPT = "regard-photo";
const LONGEST_SIDE = 1600; // a photograph straight from a camera is larger than any model looks at

export function open(root, params, app) {
  return new Captions(root, params, app);
}

class Captions {
  constructor(root, params, app) {
    Object.assign(this, { root, params, app, results: [], mounted: [] });
    this.root.append(h("p", { class: "rg-note", text: "Asking the server for its models …" }));
    this.listeners = {
      paste: (event) => this.take(event.clipboardData?.files[0]),
      dragover: (event) => this.dragged(event, true),
      dragleave: (event) => this.dragged(event, false),
      drop: (event) => {
        this.dragged(event, false);
        this.take(event.dataTransfer.files[0]);
      },
    };
    this.start();
  }

  close() {
    this.closed = true;
    this.request?.abort();
    for (const [name, listener] of Object.entries(this.listeners)) document.removeEventListener(name, listener);
    this.mounted.forEach((one) => one.destroy());
  }

  async start() {
    const all = await this.app.models();
    if (this.closed) return;
    this.models = modelsFor(all, "caption");
    if (!this.models.length) {
      this.root.replaceChildren(noModels("caption", all));
      return;
    }
    this.build();
    for (const [name, listener] of Object.entries(this.listeners)) document.addEventListener(name, listener);
    const kept = fromDataAddress(recall(KEPT, "sessionStorage") ?? "");
    if (kept) this.send(kept);
  }

  build() {
    this.input = h("input", {
      type: "file",
      accept: "image/*",
      class: "unseen",
      id: "photo",
      on: {
        change: () => {
          this.take(this.input.files[0]);
          this.input.value = ""; // so that the same file can be chosen again
        },
      },
    });
    this.drop = h(
      "label",
      { class: "drop", for: "photo" },
      h("strong", { text: "Drop a photograph here" }),
      h(
        "span",
        {},
        "or ",
        h("span", { class: "as-link", text: "choose a file" }),
        ", or paste one. It stays on this machine.",
      ),
    );
    this.output = h("div", { class: "output" });
    this.root.replaceChildren(h("div", { class: "drop-box" }, this.input, this.drop), this.output);
  }

  /** A file may be dropped anywhere on the page: beside the box, the browser would leave the page for it. */
  dragged(event, over) {
    event.preventDefault();
    this.drop.classList.toggle("over", over);
  }

  async take(file) {
    if (!file) return;
    if (!file.type.startsWith("image/")) {
      this.fail(`“${file.name}” is not a picture (${file.type || "unknown kind"}). Choose a JPEG, PNG or WebP file.`);
      return;
    }
    const photo = await reduced(file);
    keep(photo);
    this.params.delete("word");
    this.send(photo);
  }

  async send(photo) {
    this.request?.abort();
    this.request = new AbortController();
    const { signal } = this.request;
    busy(this.output, "Looking at the photograph … The first one waits until the model is loaded.");
    const answers = await Promise.allSettled(this.models.map((model) => caption(model.name, photo, signal)));
    if (signal.aborted || this.closed) return;
    this.results = answers.map((answer, i) => ({
      model: this.models[i],
      data: answer.value,
      error: answer.reason?.message,
    }));
    this.show();
  }

  fail(message) {
    this.request?.abort();
    this.output.removeAttribute("aria-busy");
    this.results = [];
    this.output.replaceChildren(errorBox(message));
  }

  show() {
    this.mounted.forEach((one) => one.destroy());
    this.output.removeAttribute("aria-busy");
    const boxes = this.results.map(({ model }) =>
      h(
        "section",
        { class: "panel", "aria-label": model.label },
        h("h2", {
          class: "named",
          text: this.results.length > 1 ? `${model.label}: ${model.attention} attention` : model.label,
        }),
      ),
    );
    this.drop.classList.add("compact");
    this.drop.firstChild.textContent = "Drop another photograph here";
    this.output.replaceChildren(h("div", { class: "two" }, boxes));
    const word = /^\d{1,3}$/.test(this.params.get("word") ?? "") ? Number(this.params.get("word")) : null;
    this.mounted = this.results.map(({ data, error }, i) => {
      if (error) return void boxes[i].append(errorBox(error)) ?? { destroy() {} };
      return mount(boxes[i], data, { word, onWord: (index) => this.chose(index) });
    });
    this.app.announce(
      this.results
        .map(({ data }) => data?.words.join(" "))
        .filter(Boolean)
        .join("; "),
    );
  }

  chose(index) {
    const params = new URLSearchParams();
    if (index !== null) params.set("word", String(index));
    this.app.write(params);
  }

  snapshot() {
    const parts = this.results
      .filter(({ data }) => data)
      .map(({ model, data }) => ({ ...data, title: `${model.label}: ${data.words.join(" ")}` }));
    if (!parts.length) return null;
    return {
      name: "regard-caption",
      data: parts.length === 1 ? parts[0] : { kind: "several", title: "Captions", parts },
    };
  }
}

/** A picture no larger than needed; one that the browser cannot read goes to the server as it is. */
async function reduced(file) {
  try {
    const bitmap = await createImageBitmap(file);
    const scale = LONGEST_SIDE / Math.max(bitmap.width, bitmap.height);
    if (scale >= 1) return file;
    const canvas = document.createElement("canvas");
    Object.assign(canvas, { width: Math.round(bitmap.width * scale), height: Math.round(bitmap.height * scale) });
    canvas.getContext("2d").drawImage(bitmap, 0, 0, canvas.width, canvas.height);
    return await new Promise((done) => canvas.toBlob(done, "image/jpeg", 0.92));
  } catch {
    return file;
  }
}

/** So that a reload shows the same photograph again. */
function keep(photo) {
  const reader = new FileReader();
  reader.onload = () => remember(KEPT, reader.result, "sessionStorage");
  reader.readAsDataURL(photo);
}

function fromDataAddress(address) {
  const found = /^data:([\w/+.-]+);base64,(.*)$/s.exec(address);
  if (!found) return null;
  return new Blob([Uint8Array.from(atob(found[2]), (mark) => mark.charCodeAt(0))], { type: found[1] });
}
