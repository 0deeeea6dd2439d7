"""python score.py RUN SCENES: how many captions are right, and how many shape words look at the shape they name."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import regard
from regard.captioning.scenes import peak_share, read_things

run, scenes = sys.argv[1], Path(sys.argv[2])
rows = [json.loads(line) for line in (scenes / "captions.jsonl").read_text(encoding="utf-8").splitlines()]
found = regard.Captioner.load(run).caption([scenes / row["image"] for row in rows], beam=3)
exact = sum(caption.text in row["captions"] for caption, row in zip(found, rows, strict=True)) / len(rows)
print(f"exactly right: {exact:.1%}")
on_it = peak_share([c.words for c in found], [c.weights for c in found], read_things(scenes / "captions.jsonl"))
print(f"shape words that look most at their shape: {on_it:.1%}")
