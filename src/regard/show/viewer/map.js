// The one way in for the page, the single-file HTML and the notebook widget: mount(element, data, options).

import { mountSteps } from "./cells.js";
import { h } from "./dom.js";
import { mountHeatmap } from "./heatmap.js";
import { mountPhoto } from "./photo.js";

/**
 * Show `data` inside `element`, by its kind: "map", "photo", "steps" (tables), or "several" ({parts}) of them.
 * A title, a source sentence and a text are written above. Gives what the kind gives, {destroy()} at least.
 */
export function mount(element, data, options = {}) {
  const root = h(
    "div",
    { class: "rg" },
    data.title && h("h2", { class: "rg-title", text: data.title }),
    sentences(data),
  );
  element.append(root);
  const mounted = mountKind(root, data, options) ?? {};
  return Object.assign(mounted, { destroy: chained(mounted, root) });
}

function mountKind(root, data, options) {
  if (data.kind === "several") {
    const box = root.appendChild(h("div", { class: "rg-several" }));
    const parts = data.parts.map((part) => mount(box, part, options));
    return { destroy: () => parts.forEach((part) => part.destroy()) };
  }
  if (data.kind === "photo") return mountPhoto(root, data, options);
  if (data.kind === "steps") return mountSteps(root, data);
  if (data.weights?.length) return mountHeatmap(root, data, options);
  const why = data.weights ? "Nothing was written." : "This model has no attention: there is no place where it looked.";
  root.append(h("p", { class: "rg-note", text: why }));
  return null;
}

function sentences({ kind, source, text }) {
  if (kind !== "map" || (!source && !text)) return null;
  return h(
    "div",
    { class: "rg-sentences" },
    source && h("p", { dir: "auto", text: source }),
    text && h("p", { dir: "auto", class: "rg-text", text }),
  );
}

function chained(mounted, root) {
  const inner = mounted.destroy?.bind(mounted);
  return () => {
    inner?.();
    root.remove();
  };
}
