"""A run handed on: smaller, as good, and silent about where it was made."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import regard
from regard.errors import CheckpointError
from regard.pretrained.export import export

SENTENCE = "the red cat sees a dog"


def test_an_exported_model_translates_as_its_run_does(toy_run: Path, tmp_path: Path) -> None:
    folder = export(toy_run, tmp_path / "handed on")
    before, after = (regard.Translator.load(model).translate(SENTENCE) for model in (toy_run, folder))
    assert after.text == before.text != ""
    np.testing.assert_allclose(after.weights, before.weights, atol=0.02)


def test_weights_take_half_the_bytes(toy_run: Path, tmp_path: Path) -> None:
    folder = export(toy_run, tmp_path / "half")
    sizes = [(path / "best.safetensors").stat().st_size for path in (folder, toy_run)]
    assert sizes[0] < 0.6 * sizes[1]


def test_no_path_of_the_machine_is_handed_on(toy_run: Path, tmp_path: Path) -> None:
    folder = export(toy_run, tmp_path / "out")
    assert sorted(path.name for path in folder.iterdir()) == ["best.safetensors", "config.toml", "vocabulary.model"]
    assert str(toy_run.parent) not in (folder / "config.toml").read_text()
    assert 'path = "train.tsv"' in (folder / "config.toml").read_text()
    assert list(tmp_path.iterdir()) == [folder]


def test_a_folder_that_is_there_is_not_written_over(toy_run: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    with pytest.raises(CheckpointError, match="is there already"):
        export(toy_run, tmp_path / "mine")
