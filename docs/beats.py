"""Take the pictures of the story that the documentation shows, in a Chromium: ``python docs/beats.py``."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

from PIL import Image
from playwright.sync_api import Page, sync_playwright

HERE = Path(__file__).parent / "pictures"
BEATS = {
    "bottleneck/10": "story-one-vector.png",
    "look-back/4": "story-scores.png",
    "look-back/8": "story-context.png",
    "look-back/17": "story-map.png",
    "grid/7": "story-grid.png",
    "grid/15": "story-photograph.png",
}


def picture(page: Page, origin: str, beat: str, path: Path) -> None:
    page.goto(f"{origin}/story/{beat}")
    page.locator(".story .stage:visible, .photographs [aria-selected=true]").first.wait_for(timeout=60_000)
    if page.locator(".live").count():
        for _ in range(2):
            page.get_by_role("button", name="Word ▶").click()
    page.wait_for_function("() => document.getAnimations().every((one) => one.playState !== 'running')")
    with Image.open(io.BytesIO(page.locator(".story").screenshot())) as taken:
        taken.convert("RGB").quantize(256).save(path, optimize=True)


def main() -> None:
    program = os.environ.get("REGARD_CHROMIUM") or shutil.which("chromium")
    served = subprocess.Popen(
        [sys.executable, "-m", "regard", "serve", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        address = next(found[0] for line in served.stdout if (found := re.search(r"http://\S+", line)))
        parts = urlsplit(address)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
            page = browser.new_page(
                viewport={"width": 1180, "height": 800}, reduced_motion="reduce", color_scheme="light"
            )
            page.goto(address)
            for beat, name in BEATS.items():
                picture(page, f"{parts.scheme}://{parts.netloc}", beat, HERE / name)
    finally:
        served.terminate()


if __name__ == "__main__":
    main()
