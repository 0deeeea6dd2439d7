"""What a person would notice on a page, measured: text too pale, controls without a name, pictures with nothing on."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from axe_playwright_python.sync_playwright import Axe
from PIL import Image

# Text against what is behind it, by the formula of WCAG 2.2 (1.4.3): 4.5, or 3 for large text.
_PALE_TEXT = """() => {
  const pen = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const known = new Map();
  const rgba = (colour) => {
    if (known.has(colour)) return known.get(colour);
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
    known.set(colour, [r, g, b, a / 255]);
    return known.get(colour);
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3]));
  const behind = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) layers.push(rgba(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
  };
  const light = (colour) => {
    const [r, g, b] = colour.map((x) => (x / 255 <= 0.04045 ? x / 255 / 12.92 : ((x / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const words = element.matches("input:not([type=range]):not([type=checkbox]), textarea, select") ? element.value
      : [...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data).join("");
    const style = getComputedStyle(element);
    if (!words.trim() || element.disabled || !element.checkVisibility({visibilityProperty: true})) continue;
    if (element.closest("noscript, .unseen, option") || element.getBoundingClientRect().right < 0) continue;
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const below = behind(element);
    const pair = [light(over(rgba(style.color), below)), light(below)].sort((a, b) => b - a);
    const ratio = (pair[0] + 0.05) / (pair[1] + 0.05);
    const what = `${element.tagName} .${element.className} ${words.trim().slice(0, 40)}`;
    if (ratio < (large ? 3 : 4.5)) found.push(`${ratio.toFixed(2)}: ${what}`);
  }
  return found;
}"""

# Everything that can be used or stands for something must say what it is.
_NAMELESS = """() => {
  const named = (element) => (element.getAttribute("aria-label") ?? "").trim() || element.alt?.trim()
    || [...(element.labels ?? [])].some((label) => label.textContent.trim())
    || (!element.matches("input, select, textarea, [role=img], [role=grid], [role=listbox], [role=region]")
      && element.textContent.trim());
  const asked = "a, button, input, select, textarea, summary, section, nav, [role=img], [role=grid], [role=listbox], " +
    "[role=option], [role=region], [role=group], [role=table], [tabindex='0']";
  const shown = (element) => element.checkVisibility({visibilityProperty: true});
  const found = [...document.querySelectorAll(asked)].filter((element) => shown(element) && !named(element))
    .map((element) => `no name: ${element.outerHTML.slice(0, 120)}`);
  for (const image of document.querySelectorAll("img:not([alt])")) found.push(`no alt: ${image.src.slice(0, 80)}`);
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  for (const id of ids.filter((id, i) => ids.indexOf(id) !== i)) found.push(`id used twice: ${id}`);
  if (document.querySelectorAll("h1").length !== 1) found.push("not one h1");
  if (!document.documentElement.lang) found.push("no language");
  return found;
}"""


def faults(page: Any) -> list[str]:
    """Pale text, nameless controls, and a page wider than its window."""
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    too_wide = [f"the page is {wide} pixels wider than its window"] if wide > 0 else []
    return [*page.evaluate(_PALE_TEXT), *page.evaluate(_NAMELESS), *too_wide]


def violations(page: Any) -> list[str]:
    """What axe-core finds wrong with a page for those who cannot see or point."""
    found = Axe().run(page).response["violations"]
    return [f"{rule['id']}: {node['html'][:120]}" for rule in found for node in rule["nodes"]]


def colours(picture: bytes) -> int:
    """How many different colours cover at least a thousandth of a picture: an empty one has one or two."""
    with Image.open(io.BytesIO(picture)) as image:
        coarse = np.asarray(image.convert("RGB"), dtype=np.int64) // 16
    counts = np.bincount((coarse @ [256, 16, 1]).ravel())
    return int((counts >= counts.sum() / 1000).sum())


def photograph() -> bytes:
    """A PNG with something to see: a gradient and a bright square."""
    across = np.linspace(0, 255, 320, dtype=np.uint8)
    rising, falling = np.tile(across, (240, 1)), np.tile(across[::-1], (240, 1))
    pixels = np.stack([rising, np.full_like(rising, 90), falling], -1)
    pixels[80:140, 60:140] = (250, 240, 60)
    written = io.BytesIO()
    Image.fromarray(pixels).save(written, "PNG")
    return written.getvalue()
