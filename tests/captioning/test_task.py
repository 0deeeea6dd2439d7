"""Training tiny captioners from files to weights."""

from __future__ import annotations

import json
import shutil
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file

from regard.captioning.task import CaptionTask
from regard.captioning.vocabulary import stored_vocabulary
from regard.errors import CheckpointError, ConfigError, DataError
from regard.training import train
from regard.training.config import load_config
from tests.captioning.conftest import run_file
from tests.training.runs import assert_same_run, log


@pytest.mark.parametrize("attention", ["soft", "hard"])
def test_a_resumed_run_is_the_uninterrupted_one(scenes, soft_run, hard_run, tmp_path, attention):
    """Also for draws: they come from the random state that checkpoints keep."""
    whole = {"soft": soft_run, "hard": hard_run}[attention]
    run = tmp_path / "run"
    train(run_file(scenes, run, model__attention=attention), overrides=["training.updates=25"])
    result = train(run_file(scenes, run, model__attention=attention), resume=True)
    assert result.reason == "updates"
    stopped = log(run, "validation", "stop")
    assert [line["update"] for line in stopped if line["kind"] == "stop"] == [25, 40]
    one, two = log(whole, "update"), log(run, "update")
    assert one == two
    weights, again = (load_file(directory / "last.safetensors") for directory in (whole, run))
    assert weights.keys() == again.keys()
    assert all(torch.equal(again[name], tensor) for name, tensor in weights.items())


def test_the_same_run_twice_is_the_same(scenes, soft_run, tmp_path):
    train(run_file(scenes, tmp_path / "run"))
    assert_same_run(soft_run, tmp_path / "run")


def test_validation_says_loss_and_scores_and_shows_captions(soft_run):
    entry = log(soft_run, "validation")[-1]
    assert {"loss", "bleu", "bleu1", "cider_d"} <= entry.keys()
    assert [list(sample) for sample in entry["samples"]] == [["reference", "model"]] * 3


def test_every_caption_is_an_example_with_its_own_picture(scenes, tmp_path):
    config: Any = load_config(run_file(scenes, tmp_path / "run"))
    task = CaptionTask(config)
    task.prepare(tmp_path, begun=False, threads=1, report=lambda _: None)
    rows = [json.loads(line) for line in (scenes / "train/captions.jsonl").read_text().splitlines()]
    assert len(task.examples) == sum(len(row["captions"]) for row in rows)
    last = len(task.examples) - 1
    batch = task.examples.batch(np.array([0, last]))
    words = task.vocabulary.decode(batch.target[1].tolist())
    assert words == rows[-1]["captions"][-1]
    pictures: Any = task.examples.pictures
    assert (batch.pictures[1] == pictures[len(rows) - 1]).all()
    assert task.examples.sizes(np.array([0]))[0, 0] == len(rows[0]["captions"][0].split()) + 1


def test_mirror_images_are_learned_from_and_not_tested_on(scenes, tmp_path):
    tasks = []
    for mirror in (False, True):
        config: Any = load_config(run_file(scenes, tmp_path / "run", data__mirror=mirror))
        tasks.append(CaptionTask(config))
        tasks[-1].prepare(tmp_path, begun=False, threads=1, report=lambda _: None)
    plain, mirrored = tasks
    rows = np.arange(len(plain.examples))
    one, other = plain.examples.batch(rows), mirrored.examples.batch(rows)
    assert torch.equal(one.target, other.target)
    same, turned = ((one.pictures == seen).flatten(1).all(1) for seen in (other.pictures, other.pictures.flip(3)))
    assert (same | turned).all()
    assert turned.any()
    assert same.any()
    assert torch.equal(other.pictures, mirrored.examples.batch(rows).pictures)
    assert len(mirrored.held_out.captions) == len(plain.held_out.captions)


def test_captions_are_plain_words(tmp_path, scenes):
    folder = tmp_path / "scenes"
    folder.mkdir()
    (folder / "images").symlink_to(scenes / "train/images")
    captions = [{"image": "images/000000.png", "captions": ["A Dog , running .", "the dog runs!"]}]
    (folder / "captions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in captions))
    values = run_file(tmp_path, tmp_path / "run", training__updates=1)
    values["data"]["train"] = values["data"]["validation"] = [{"path": str(folder)}]
    train(values)
    config: Any = load_config(values)
    vocabulary = stored_vocabulary(tmp_path / "run", config.vocabulary)
    assert {vocabulary.decode([i]) for i in range(4, len(vocabulary))} == {"a", "the", "dog", "runs", "running"}


def test_a_bad_photograph_ends_the_run_unless_it_is_skipped(scenes, tmp_path):
    folder = tmp_path / "bad"
    (folder / "images").mkdir(parents=True)
    (folder / "images/text.jpg").write_text("no picture")
    good = str(scenes / "train/images/000000.png")
    rows = [{"image": "images/text.jpg", "captions": ["a b"]}, {"image": good, "captions": ["a red circle"]}]
    (folder / "captions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    values = run_file(scenes, tmp_path / "run", training__updates=1)
    values["data"]["train"] = values["data"]["validation"] = [{"path": str(folder)}]
    with pytest.raises(DataError, match=r"text\.jpg is no photograph that can be read"):
        train(values)
    values["data"]["on_bad"] = "skip"
    assert train({**values, "run": str(tmp_path / "other")}).updates == 1


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"data__backbone": "smal-cnn"}, LookupError, "no backbone is called 'smal-cnn'.*Did you mean 'small-cnn'?"),
        ({"data__max_words": 1}, DataError, "there is no caption to use"),
        (
            {"model__attention": "harder"},
            ConfigError,
            "model.attention = 'harder' cannot be used.*Did you mean 'hard'?",
        ),
        ({"model__atention": "hard"}, ConfigError, "there is no setting model.atention"),
        ({"vocabulary__size": 8}, None, ""),
    ],
)
def test_what_a_person_can_mend_is_said(scenes, tmp_path, changes, error, message):
    values = run_file(scenes, tmp_path / "run", training__updates=1, **changes)
    if error is None:
        assert train(values).updates == 1  # unknown words are left to <unk>
        return
    with pytest.raises(error, match=message):
        train(values)


def test_a_changed_setting_is_refused_on_resume(scenes, soft_run):
    with pytest.raises(CheckpointError, match=r'model\.attention was "soft" in .*, is "hard" now'):
        train(run_file(scenes, soft_run, model__attention="hard"), resume=True)


@pytest.mark.parametrize("part", ["train", "dev"])
def test_changed_photographs_are_refused_on_resume(scenes, tmp_path, part):
    mine, run = tmp_path / "scenes", tmp_path / "run"
    shutil.copytree(scenes, mine)
    train(run_file(mine, run, training__updates=1))
    mine = mine.rename(tmp_path / "moved")
    train(run_file(mine, run, training__updates=2), resume=True)  # only moved: the same photographs
    photo = sorted((mine / part).rglob("*.png"))[3]
    Image.new("RGB", (64, 64), "red").save(photo)
    key = {"train": "data.train", "dev": "data.validation"}[part]
    with pytest.raises(CheckpointError, match=rf"^{key}, a photograph has changed since .*run was begun"):
        train(run_file(mine, run, training__updates=3), resume=True)


def test_a_photograph_that_can_no_longer_be_read_is_refused_on_resume(scenes, tmp_path):
    mine, run = tmp_path / "scenes", tmp_path / "run"
    shutil.copytree(scenes, mine)
    train(run_file(mine, run, training__updates=1, data__on_bad="skip"))
    sorted((mine / "train").rglob("*.png"))[3].unlink()
    with pytest.raises(CheckpointError, match=r"^data\.train, a photograph has changed since"):
        train(run_file(mine, run, training__updates=2, data__on_bad="skip"), resume=True)


def test_hard_attention_may_begin_with_what_soft_attention_learned(scenes, soft_run, tmp_path):
    begun = {"model__attention": "hard", "training__begin_with": str(soft_run), "training__updates": 1}
    train(run_file(scenes, tmp_path / "run", **begun, training__learning_rate=1e-12))
    old, new = (
        load_file(run / name) for run, name in ((soft_run, "best.safetensors"), (tmp_path / "run", "last.safetensors"))
    )
    assert new.keys() - old.keys() == {"reinforce.baseline"}
    for name, tensor in old.items():
        torch.testing.assert_close(new[name], tensor, atol=1e-6, rtol=0)
    with pytest.raises(CheckpointError, match="is of another model than its settings say"):
        train(run_file(scenes, tmp_path / "other", **begun, model__embedding=8))
