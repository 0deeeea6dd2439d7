// Draw a picture of the kind that the blackboard captioner knows, and look at it softly or hard.

import { choice } from "../page/controls.js";
import { h } from "../viewer/dom.js";

const ABOVE = ["sun", "moon", "star"];
const BELOW = ["hill", "sea", "wood"];
const PLACES = { 0: "left", 1: "middle", 2: "right" };

export function picturePanel(story) {
  const element = h("section", { class: "controls", "aria-label": "The picture" });
  const panel = {
    element,
    update(chapter) {
      const column = Math.max(0, chapter.source.slice(0, 3).findIndex((name) => ABOVE.includes(name)));
      const [above, below] = [chapter.source[column], chapter.source[6]];
      const draw = (changed) => {
        const next = { above, below, column, ...changed };
        story.choose(Array.from({ length: 9 }, (_, i) => (i === Number(next.column) ? next.above : i < 6 ? "sky" : next.below)));
      };
      const held = element.contains(document.activeElement) ? document.activeElement.closest("label")?.textContent : null;
      element.replaceChildren(
        choice("Above", named(ABOVE), above, (value) => draw({ above: value })),
        choice("Where", PLACES, String(column), (value) => draw({ column: value })),
        choice("Below", named(BELOW), below, (value) => draw({ below: value })),
        choice("It looks", { soft: "softly: a share of every cell", hard: "hard: at one cell alone" }, chapter.look, story.look),
      );
      [...element.querySelectorAll("label")].find((label) => label.textContent === held)?.querySelector("select").focus();
    },
  };
  panel.update(story.chapter);
  return panel;
}

const named = (names) => Object.fromEntries(names.map((name) => [name, name]));
