"""The figures of a captioner: its loss, exact captions, and how its maps spread and move."""

from __future__ import annotations

import json

import numpy as np
import pytest

import regard
from regard.captioning.corpus import CaptionCorpus, Example
from regard.captioning.evaluation import evaluate, map_statistics
from regard.cli.evaluate import evaluate as verb
from regard.errors import InputError


@pytest.fixture(scope="module")
def soft(soft_run):
    return regard.Captioner.load(soft_run)


@pytest.fixture
def _without_java(monkeypatch):
    """METEOR's Java program takes seconds to start; tests of its own are in test_evaluation."""
    monkeypatch.setattr("regard.captioning.evaluation.meteor_missing", lambda: "left out")


@pytest.mark.usefixtures("_without_java")
def test_evaluate_two_captioners(soft_run, hard_run, scenes, tmp_path, capsys):
    data, output = str(scenes / "dev"), tmp_path / "captions.txt"
    verb(str(soft_run), str(hard_run), data, beam=1, json_=True)
    soft, hard = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert soft["photographs"] == 10
    assert {
        "bleu1",
        "bleu2",
        "bleu3",
        "bleu4",
        "rouge_l",
        "cider_d",
        "exact",
        "loss",
        "entropy",
        "moves",
    } <= soft.keys()
    assert hard["entropy"] == 0 < soft["entropy"] <= np.log(16)
    verb(str(soft_run), data, beam=1, output=output)
    assert "moves" in capsys.readouterr().out
    assert len(output.read_text().splitlines()) == 10
    with pytest.raises(InputError, match="these models write captions"):
        verb(str(soft_run), data, by_length=True)


@pytest.mark.usefixtures("_without_java")
def test_loss_of_evaluate_is_that_of_the_validation(soft, soft_run, scenes):
    """The run's own last validation was made with the weights that are kept as last."""
    last = [json.loads(line) for line in (soft_run / "log.jsonl").read_text().splitlines()]
    losses = {line["update"]: line["loss"] for line in last if line["kind"] == "validation"}
    best = json.loads(next(iter((soft_run / "checkpoints").glob("*/state.json"))).read_text())["best"]["update"]
    found = evaluate(soft, list(CaptionCorpus(scenes / "dev")), beam=1)
    assert found.loss == pytest.approx(losses[best], rel=1e-3)  # pixels are kept in float16 for training


@pytest.mark.usefixtures("_without_java")
def test_a_caption_is_exact_whatever_its_case_and_full_stop(soft, scenes):
    text = soft.caption(str(scenes / "dev/images/000000.png")).text
    image = scenes / "dev/images/000000.png"
    examples = [Example(image, ("a dog", f"{text.capitalize()} .")), Example(image, (text + " too",))]
    assert evaluate(soft, examples).exact == 0.5


def test_map_statistics_by_hand():
    still, moving = np.zeros((3, 2, 2)), np.full((2, 2, 2), 0.25)
    still[:, 0, 0] = 1
    assert map_statistics([still]) == (0.0, 0.0)
    assert map_statistics([moving]).entropy == pytest.approx(np.log(4))
    assert map_statistics([np.stack([still[0], still[0].T[::-1]])]).moves == 1.0
    assert map_statistics([np.zeros((0, 2, 2))]) == (0.0, 0.0)
