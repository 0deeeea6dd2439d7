"""The page under Lighthouse: every view, as a phone and as a desktop computer. ``python -m benchmarks.lighthouse``

Needs npx, which fetches Lighthouse, and a Chromium. Ends with 1 where a category has fewer than 95 of 100 points.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

LIGHTHOUSE = os.environ.get("LIGHTHOUSE", "npx --yes lighthouse").split()
STORY = ("story/bottleneck/1", "story/look-back/1", "story/grid/1")
VIEWS = ("", *STORY, "steps", "translate", "caption", "kinds", "inspect")
PRESETS = {"phone": [], "desktop": ["--preset=desktop"]}
LEAST = 95


def main() -> int:
    """Print the points of each category for each view and preset."""
    least = 100
    with served() as (address, token):
        for view in VIEWS:
            for preset, flags in PRESETS.items():
                points = audit(f"{address}/{view}?{token}", flags)
                least = min(least, *points.values())
                print(f"/{view} {preset}:", ", ".join(f"{name} {value}" for name, value in points.items()), flush=True)
    return int(least < LEAST)


@contextmanager
def served() -> Iterator[list[str]]:
    """The address of a server of the models that ship, and its token."""
    command = [sys.executable, "-m", "regard", "serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip().split("/?")
        finally:
            server.terminate()


def audit(address: str, flags: list[str]) -> dict[str, int]:
    """Lighthouse's points, of 100, by category."""
    program = os.environ.get("REGARD_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome") or ""
    chrome = "--chrome-flags=--headless=new --no-sandbox --disable-dev-shm-usage"
    command = [*LIGHTHOUSE, address, "--quiet", "--output=json", "--output-path=stdout", chrome, *flags]
    done = subprocess.run(command, env=os.environ | {"CHROME_PATH": program}, capture_output=True, check=True)
    return {name: round(100 * found["score"]) for name, found in json.loads(done.stdout)["categories"].items()}


if __name__ == "__main__":
    sys.exit(main())
