// Elements in one call. Styles go through the object model, which a strict Content-Security-Policy allows.

/** h("p", {class: "note", on: {click}}, "text", element): null children are left out. */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) set(element, name, value);
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

function set(element, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name === "on") for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
  else if (name === "style") Object.assign(element.style, value);
  else if (name === "text") element.textContent = value;
  else if (name === "class") element.className = value;
  else if (name in element && typeof value !== "string") element[name] = value;
  else element.setAttribute(name, value === true ? "" : value);
}

/** Text with what stands in backticks as code, as the server writes commands. */
export function prose(text) {
  return text.split("`").map((part, i) => (i % 2 ? h("code", { text: part }) : part));
}

/** Maths as plain HTML: *x* is a variable, _{j} below, ^{2} above. */
export function formula(text) {
  const pieces = text.matchAll(/\*([^*]+)\*|_\{([^}]*)\}|\^\{([^}]*)\}|([^*_^]+|[*_^])/g);
  const nodes = [...pieces].map(([, variable, below, above, plain]) => {
    if (variable) return h("var", { text: variable });
    if (below !== undefined) return h("sub", {}, formula(below));
    return above !== undefined ? h("sup", {}, formula(above)) : plain;
  });
  const fragment = document.createDocumentFragment();
  fragment.append(...nodes);
  return fragment;
}

/** The same maths as text, for pictures and screen readers. */
export function plainFormula(text) {
  return text
    .replace(/\*([^*]+)\*/g, "$1")
    .replace(/_\{([^}]*)\}/g, "_$1")
    .replace(/\^\{([^}]*)\}/g, "^$1");
}

/** Call `listener` with the element's width now and whenever it changes; gives back what stops that. */
export function onWidth(element, listener) {
  let last = -1;
  const look = () => {
    const width = Math.floor(element.clientWidth);
    if (width > 0 && width !== last) listener((last = width));
  };
  const watcher = new ResizeObserver(look);
  watcher.observe(element);
  look(); // before anything is painted, so that nothing moves then
  return () => watcher.disconnect();
}

/** Call `listener` whenever the page may have turned light or dark; gives back what stops that. */
export function onScheme(listener) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const watcher = new MutationObserver(listener);
  for (const root of [document.documentElement, document.body]) watcher.observe(root, { attributes: true });
  system.addEventListener("change", listener);
  return () => {
    watcher.disconnect();
    system.removeEventListener("change", listener);
  };
}
