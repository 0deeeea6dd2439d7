"""The examples run as they stand, and print what they promise."""

import os
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name: str) -> str:
    env = {**os.environ, "PYTHONPATH": str(EXAMPLES.parent / "src")}
    done = subprocess.run([sys.executable, EXAMPLES / name], capture_output=True, text=True, check=True, env=env)
    return done.stdout


def test_decoder_state():
    printed = run("decoder_state.py").splitlines()
    assert printed[0] == "by hand   [3.8808, 4.0728, 45.2642]"
    assert printed[1] == "regard    [3.8808, 4.0728, 45.2642]"
    assert [line.split("  ")[0] for line in printed[2:]][-1] == "context"


def test_four_words():
    printed = run("four_words.py")
    assert "[[0.99996933 1.64042681 0.64045748]" in printed
    assert "[[9.92901880e-01 1.62883281e+00 6.35930933e-01]" in printed
