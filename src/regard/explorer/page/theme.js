// Light, dark, or as the system has it.

import { recall, remember } from "./memory.js";

const ORDER = ["auto", "light", "dark"];
const NAMES = { auto: "as the system", light: "light", dark: "dark" };
const KEY = "regard-theme";

export function themeSwitch(button) {
  let theme = ORDER.includes(recall(KEY)) ? recall(KEY) : "auto";
  const show = () => {
    if (theme === "auto") document.documentElement.removeAttribute("data-theme");
    else document.documentElement.dataset.theme = theme;
    button.dataset.shown = theme;
    button.setAttribute("aria-label", `Colours: ${NAMES[theme]}. Switch.`);
    button.title = `Colours: ${NAMES[theme]}`;
  };
  button.addEventListener("click", () => {
    theme = ORDER[(ORDER.indexOf(theme) + 1) % ORDER.length];
    remember(KEY, theme);
    show();
  });
  show();
}
