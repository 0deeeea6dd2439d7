// The nine sentences that the blackboard translators were taught: which of them it gets right. One is chosen by a press.

import { STOP, write } from "../maths/blackboard.js";
import { h } from "../viewer/dom.js";

const NOUNS = { cat: "chat", dog: "chien", wolf: "loup" };
const VERBS = { sleeps: "dort", eats: "mange", sings: "chante" };

export function sentencesPanel(story) {
  const element = h("section", { class: "sentences", "aria-label": "The nine sentences" });
  const panel = {
    element,
    update(chapter) {
      const held = element.contains(document.activeElement) ? document.activeElement.dataset.source : null;
      const cells = Object.keys(NOUNS).flatMap((noun) => Object.keys(VERBS).map((verb) => sentence(["the", noun, verb], chapter, story)));
      const right = cells.filter((cell) => cell.classList.contains("right")).length;
      element.replaceChildren(
        h("p", { class: "rg-note", text: `${right} of 9 are right. Press one to see it on the stage.` }),
        h("div", { class: "nine" }, cells),
      );
      [...element.querySelectorAll("button")].find((button) => button.dataset.source === held)?.focus();
    },
  };
  panel.update(story.chapter);
  return panel;
}

function sentence(source, chapter, story) {
  const words = write(chapter.model, source).words;
  const isRight = words.join(" ") === ["le", NOUNS[source[1]], VERBS[source[2]], STOP].join(" ");
  const written = words.filter((word) => word !== STOP).join(" ");
  return h(
    "button",
    {
      type: "button",
      class: isRight ? "right" : "wrong",
      "data-source": source.join(" "),
      "aria-pressed": String(chapter.source.join(" ") === source.join(" ")),
      on: { click: () => story.choose(source) },
    },
    h("span", { class: "asked", text: source.join(" ") }),
    h("span", { class: "got", text: `${isRight ? "✓" : "✗"} ${written}` }),
  );
}

