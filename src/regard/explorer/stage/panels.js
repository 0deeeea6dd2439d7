// What stands below the stage in some beats.

import { lengthsPanel } from "./lengths_panel.js";
import { pairPanel } from "./pair_panel.js";
import { photographPanel } from "./photograph_panel.js";
import { picturePanel } from "./picture_panel.js";
import { sentencesPanel } from "./sentences_panel.js";
import { translatorPanel } from "./translator_panel.js";
import { weightsPanel } from "./weights_panel.js";

const PANELS = {
  lengths: lengthsPanel,
  pair: pairPanel,
  photograph: photographPanel,
  picture: picturePanel,
  sentences: sentencesPanel,
  translator: translatorPanel,
  weights: weightsPanel,
};

/** Fill `box` with the panel of that name; it may have `update(chapter, trace)` and `close()`. */
export function openPanel(name, box, story) {
  const panel = PANELS[name](story);
  box.replaceChildren(panel.element);
  return { name, ...panel };
}
