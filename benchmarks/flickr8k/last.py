"""The last weights of a run as a model of its own, to begin another run with: python last.py runs/x runs/x-last"""

import shutil
import sys
from pathlib import Path

run, folder = map(Path, sys.argv[1:])
folder.mkdir()
for name in ("config.toml", "vocabulary.model"):
    shutil.copyfile(run / name, folder / name)
shutil.copyfile(run / "last.safetensors", folder / "best.safetensors")
