"""The examples run as they stand, and print what they promise."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from regard.captioning.scenes import write_scenes
from regard.explorer.blackboard import load

EXAMPLES = Path(__file__).parents[1] / "examples"


def done(arguments: list[str | Path], folder: Path) -> str:
    """What Python prints, run in the folder."""
    env = {**os.environ, "PYTHONPATH": str(EXAMPLES.parent / "src")}
    program = [sys.executable, *arguments]
    return subprocess.run(program, capture_output=True, text=True, check=True, env=env, cwd=folder).stdout


def test_decoder_state(tmp_path):
    printed = done([EXAMPLES / "decoder_state.py"], tmp_path).splitlines()
    assert printed[0] == "by hand   [3.8808, 4.0728, 45.2642]"
    assert printed[1] == "regard    [3.8808, 4.0728, 45.2642]"
    assert [line.split("  ")[0] for line in printed[2:]][-1] == "context"


def test_four_words(tmp_path):
    printed = done([EXAMPLES / "four_words.py"], tmp_path)
    assert "[[0.99996933 1.64042681 0.64045748]" in printed
    assert "[[9.92901880e-01 1.62883281e+00 6.35930933e-01]" in printed


def test_blackboard(tmp_path):
    """The grid's model learns in seconds, and is of the shape that ships."""
    (tmp_path / "models").mkdir()
    printed = done([EXAMPLES / "blackboard" / "train.py", "grid", "--out", tmp_path / "models"], tmp_path)
    right = re.fullmatch(r"grid: (\d) of 9 texts right\n", printed)
    assert right is not None
    assert int(right[1]) >= 6  # all nine where it was chosen; processors round differently
    learned = json.loads((tmp_path / "models" / "grid.json").read_text(encoding="utf-8"))
    assert {name: sorted(part) for name, part in learned.items() if name != "align"} == {
        name: sorted(part) for name, part in load("grid").items() if name != "align"
    }


def test_scenes(tmp_path):
    """A moment of each training, in the folder that the run files expect: enough to be scored, not to be good."""
    write_scenes(tmp_path / "scenes" / "train", 40, seed=1)
    write_scenes(tmp_path / "scenes" / "dev", 8, seed=2)
    for kind in ("soft", "hard"):
        few = ["training.updates=80", "training.batch_tokens=200", "training.validate_every=80", "training.warmup=5"]
        settings = [word for one in few for word in ("--set", one)]
        done(["-m", "regard", "train", EXAMPLES / "scenes" / f"{kind}.toml", *settings], tmp_path)
        printed = done([EXAMPLES / "scenes" / "score.py", f"runs/{kind}", "scenes/dev"], tmp_path)
        assert re.fullmatch(r"exactly right: \d+\.\d%\nshape words that look most at their shape: \d+\.\d%\n", printed)
