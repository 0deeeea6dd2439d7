// A photograph as a file: made no larger than needed, and kept for this tab.

import { recall, remember } from "./memory.js";

const KEY = "regard-photo";
const LONGEST_SIDE = 1600; // a photograph straight from a camera is larger than any model looks at

/** A picture no larger than needed; one that the browser cannot read goes to the server as it is. */
export async function reduced(file) {
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

/** So that a reload, or the view Caption, shows the same photograph again. */
export function keep(photo) {
  const reader = new FileReader();
  reader.onload = () => remember(KEY, reader.result, "sessionStorage");
  reader.readAsDataURL(photo);
}

/** The photograph that was kept, or null. */
export function keptPhoto() {
  const found = /^data:([\w/+.-]+);base64,(.*)$/s.exec(recall(KEY, "sessionStorage") ?? "");
  if (!found) return null;
  return new Blob([Uint8Array.from(atob(found[2]), (mark) => mark.charCodeAt(0))], { type: found[1] });
}
