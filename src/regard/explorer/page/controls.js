// The controls that views share: each with a name of its own.

import { h } from "../viewer/dom.js";

/** A choice of one among {value: name}. */
export function choice(label, options, value, onChange) {
  const select = h(
    "select",
    { on: { change: () => onChange(select.value) } },
    Object.entries(options).map(([key, name]) => h("option", { value: key, text: name })),
  );
  select.value = value;
  return h("label", { class: "control" }, h("span", { text: label }), select);
}

/** A small whole number with buttons to change it. */
export function stepper(label, value, [lowest, highest], onChange) {
  const changer = (sign, name, next) =>
    h("button", {
      type: "button",
      "aria-label": `${label}: ${name}`,
      text: sign,
      disabled: next < lowest || next > highest,
      on: { click: () => onChange(next) },
    });
  return h(
    "span",
    { class: "control stepper", role: "group", "aria-label": label },
    h("span", { text: label }),
    h(
      "span",
      { class: "stepper-body" },
      changer("−", "one fewer", value - 1),
      h("output", { text: String(value) }),
      changer("+", "one more", value + 1),
    ),
  );
}

/** A switch that is on or off. */
export function toggle(label, on, onChange) {
  const box = h("input", {
    type: "checkbox",
    role: "switch",
    checked: on,
    on: { change: () => onChange(box.checked) },
  });
  return h("label", { class: "control switch" }, box, h("span", { text: label }));
}

export function button(text, onClick, rest = {}) {
  return h("button", { type: "button", class: "button", text, on: { click: onClick }, ...rest });
}

/** Fill a box with new controls; one that had the focus has it again, or its neighbour where it can do no more. */
export function refill(box, controls) {
  const held = box.contains(document.activeElement) ? nameOf(document.activeElement) : null;
  box.replaceChildren(...controls.filter(Boolean));
  if (held === null) return;
  const again = [...box.querySelectorAll("button, select, input")].find((item) => nameOf(item) === held);
  (again?.disabled ? again.parentElement.querySelector("button:enabled") : again)?.focus();
}

const nameOf = (item) =>
  item.getAttribute("aria-label") ?? item.closest("label")?.querySelector("span").textContent ?? item.textContent;
