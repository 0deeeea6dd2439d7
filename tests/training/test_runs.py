"""Every model that ships with the package: small, described in a card, and at work."""

import subprocess
import sys

import numpy as np
import pytest

import regard
from regard.training import runs
from regard.training.config import load_config

MODELS = runs.names()


def of_task(task):
    return [name for name in MODELS if load_config(runs.find(name) / "config.toml").task == task]


@pytest.mark.parametrize("name", MODELS)
def test_it_is_small_and_has_a_card(name):
    folder = runs.HOME / name
    assert sum(file.stat().st_size for file in folder.iterdir()) <= 16e6
    card = (folder / "README.md").read_text(encoding="utf-8")
    for part in ("data", "terms", "BLEU", "signature", "## Limits"):
        assert part in card, part


@pytest.mark.parametrize("name", of_task("caption"))
def test_a_captioner_describes_and_shows_where_it_looked(name):
    picture = np.random.default_rng(0).integers(0, 256, (90, 120, 3), dtype=np.uint8)
    captioner = regard.Captioner.load(name)
    caption, grid = captioner.caption(picture), captioner.model.grid
    assert len(caption.words) >= 3
    assert caption.weights.shape == (len(caption.words), grid.rows, grid.columns)
    np.testing.assert_allclose(caption.weights.sum((1, 2)), 1, atol=1e-6)


@pytest.mark.parametrize("name", of_task("translate"))
def test_a_translator_gives_french_and_looks_along(name):
    found = regard.Translator.load(name).translate("Good morning.")
    assert found.text.startswith("Bon")
    assert found.weights.shape == (len(found.target_words), len(found.source_words))
    np.testing.assert_allclose(found.weights.sum(1), 1, atol=1e-6)


@pytest.mark.parametrize(
    "used",
    [
        "Translator.load('en-fr').translate('Good morning.')",
        "Captioner.load('flickr8k').caption(np.zeros((64, 64, 3), 'u1'))",
    ],
)
def test_one_answer_waits_for_no_compiler(used):
    script = f"import sys, numpy as np, regard; regard.{used}; print('numba' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", script], text=True).strip() == "False"
