// Light, dark, or as the system has it.

const ORDER = ["auto", "light", "dark"];
const NAMES = { auto: "as the system", light: "light", dark: "dark" };

export function themeSwitch(button) {
  let theme = stored();
  const show = () => {
    if (theme === "auto") document.documentElement.removeAttribute("data-theme");
    else document.documentElement.dataset.theme = theme;
    button.dataset.shown = theme;
    button.setAttribute("aria-label", `Colours: ${NAMES[theme]}. Switch.`);
    button.title = `Colours: ${NAMES[theme]}`;
  };
  button.addEventListener("click", () => {
    theme = ORDER[(ORDER.indexOf(theme) + 1) % ORDER.length];
    try {
      localStorage.setItem("regard-theme", theme);
    } catch {
      /* a browser that keeps nothing still switches */
    }
    show();
  });
  show();
}

function stored() {
  try {
    const theme = localStorage.getItem("regard-theme");
    return ORDER.includes(theme) ? theme : "auto";
  } catch {
    return "auto";
  }
}
