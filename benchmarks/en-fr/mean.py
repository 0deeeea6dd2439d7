"""python mean.py FIRST SECOND SHARE FOLDER: a model whose weights are SHARE of FIRST's and the rest of SECOND's."""

import shutil
import sys
from pathlib import Path

from safetensors.torch import load_file, save_file

from regard.training.runs import find, vocabulary_files, weights_file

first, second, share, folder = find(sys.argv[1]), find(sys.argv[2]), float(sys.argv[3]), Path(sys.argv[4])
ours, theirs = load_file(weights_file(first)), load_file(weights_file(second))
folder.mkdir(parents=True)
for file in (second / "config.toml", *vocabulary_files(second).values()):
    shutil.copy(file, folder)
mean = {name: share * ours[name].float() + (1 - share) * theirs[name].float() for name in theirs}
save_file(mean, folder / "best.safetensors")
