"""A run handed on: smaller, as good, and silent about where it was made."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import SafetensorError

import regard
from regard.errors import CheckpointError
from regard.training.config import load_config
from regard.training.export import export, without_directories
from regard.training.toml import render
from regard.training.weights import save_weights

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


def test_only_paths_are_cut() -> None:
    """A setting with a slash in it may be something else, such as the name of a field."""
    shown = {"path": "here/train.jsonl", "source_field": "texts/en"}
    corpora = {"train": [shown], "validation": [shown]}
    config = load_config({"task": "translate", "run": "runs/fr", "data": {**corpora, "cache": "there/cache"}})
    cut = without_directories(config).model_dump()
    assert (cut["run"], cut["data"]["cache"]) == ("fr", "cache")
    assert {key: cut["data"]["train"][0][key] for key in shown} == {"path": "train.jsonl", "source_field": "texts/en"}


def test_a_captioner_that_sees_by_a_model_elsewhere_is_not_handed_on_without_it(tmp_path: Path) -> None:
    (tmp_path / "models" / "vit").mkdir(parents=True)
    (tmp_path / "run").mkdir()
    photographs = [{"path": "captions.jsonl"}]
    data = {"backbone": str(tmp_path / "models" / "vit"), "train": photographs, "validation": photographs}
    config = load_config({"task": "caption", "run": "run", "data": data})
    (tmp_path / "run" / "config.toml").write_text(render(config))
    with pytest.raises(CheckpointError, match=r"sees by .*vit, which is no part of the run"):
        export(tmp_path / "run", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    corpora = {"train": [{"path": "train.tsv"}], "validation": [{"path": "dev.tsv"}]}
    run = tmp_path / "run"
    run.mkdir()
    (run / "config.toml").write_text(render(load_config({"task": "translate", "run": "run", "data": corpora})))
    save_weights({"weight": torch.ones(2)}, run / "best.safetensors")
    monkeypatch.setattr("regard.training.export.save_weights", full)
    with pytest.raises(CheckpointError, match=r"out cannot be written: .*No space left"):
        export(run, tmp_path / "out")
    assert list(tmp_path.iterdir()) == [run]


def test_a_folder_that_is_there_is_not_written_over(toy_run: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    with pytest.raises(CheckpointError, match="is there already"):
        export(toy_run, tmp_path / "mine")
