"""Photographs in, captions and pictures of their attention out."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import regard
from regard.captioning.corpus import CaptionCorpus, Example
from regard.captioning.report import evaluate, looks_of
from regard.captioning.results import Caption
from regard.cli.caption import caption as caption_verb
from regard.cli.evaluate import evaluate as verb
from regard.errors import CheckpointError, DataError, InputError
from regard.show.photos import cell_light, lit, plot_caption, smooth_light
from tests.cli.test_attend import regard as command


@pytest.fixture(scope="module")
def soft(soft_run):
    return regard.Captioner.load(soft_run)


@pytest.fixture(scope="module")
def hard(hard_run):
    return regard.Captioner.load(hard_run)


@pytest.fixture(scope="module")
def photo(scenes):
    return str(scenes / "dev/images/000000.png")


def test_one_photograph_or_several(soft, photo, scenes):
    one = soft.caption(photo, beam=3)
    assert isinstance(one, Caption)
    assert one.text == " ".join(one.words)
    assert one.image == photo
    assert one.weights.shape == (len(one.words), 4, 4)
    np.testing.assert_allclose(one.weights.sum((1, 2)), 1, rtol=1e-5)
    others = soft.caption([photo, str(scenes / "dev/images/000001.png")], beam=3)
    assert others[0].image == photo
    assert others[0].text == one.text
    assert soft.caption([]) == []


def test_a_photograph_may_be_a_path_bytes_a_picture_or_an_array(soft, photo):
    with open(photo, "rb") as file:
        raw = file.read()
    with Image.open(photo) as picture:
        ways = [raw, picture.copy(), np.asarray(picture.convert("RGB"))]
    found = [soft.caption(way, beam=2) for way in ways]
    assert {caption.text for caption in found} == {soft.caption(photo, beam=2).text}
    assert [caption.image for caption in found] == [None] * 3


def test_hard_attention_looks_at_one_cell_a_word(hard, photo):
    weights = hard.caption(photo).weights
    assert ((weights == 0) | (weights == 1)).all()
    assert (weights.sum((1, 2)) == 1).all()


def test_the_next_best_come_along(soft, photo):
    found = soft.caption(photo, beam=4, n_best=3, max_length=6)
    scores = [found.score, *(other.score for other in found.alternatives)]
    assert len(scores) == 3
    assert all(len(other.words) <= 6 for other in found.alternatives)
    ranks = [(not other.finished, -other.score) for other in (found, *found.alternatives)]
    assert ranks == sorted(ranks)


def test_search_matches_the_forced_log_probability(soft, photo):
    """What beam search says of its caption is what the model says when it is made to write it."""
    from regard.captioning.batches import CaptionBatch
    from regard.captioning.photos import open_photo
    from regard.captioning.task import write
    from regard.translation.batches import padded_targets

    seen = soft.see([open_photo(photo)])
    best = write(soft.model, seen, beam=4)[0][0]
    forced = soft.model.force(CaptionBatch(seen, padded_targets([best.words])[0]))
    counted = forced.log_probs[0] if best.finished else forced.log_probs[0, :-1]
    assert float(counted.sum()) == pytest.approx(best.log_prob, rel=1e-4)
    np.testing.assert_allclose(best.weights, forced.weights[0, : len(best.weights)].numpy(), atol=1e-5)


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_figures_of_every_ending(soft, photo, tmp_path, ending):
    path = soft.caption(photo, beam=2, alpha=1.0, max_length=7).plot(tmp_path / f"words.{ending}")
    assert path.stat().st_size > 5000


def test_a_soft_overlay_is_brightest_where_it_looked():
    look = np.zeros((7, 7))
    look[1, 5] = 1.0
    light = smooth_light(look, (70, 70))
    row, column = np.unravel_index(light.argmax(), light.shape)
    assert (row // 10, column // 10) == (1, 5)
    assert light.max() == 1
    assert light[60, 10] == 0
    assert len(np.unique(light.round(2))) > 20  # smooth, not a block
    assert (smooth_light(np.zeros((2, 2)), (4, 4)) == 0).all()


def test_a_hard_overlay_is_the_cell_and_nothing_else():
    look = np.zeros((2, 4))
    look[1, 2] = 1.0
    light = cell_light(look, (40, 20))
    assert (light[10:, 20:30] == 1).all()
    assert light.sum() == 100
    white = Image.new("RGB", (40, 20), "white")
    shown = lit(white, light)
    assert (shown[10:, 20:30] == 255).all()
    assert shown[0, 0, 0] < 80


def test_a_figure_shows_the_photograph_and_every_word(tmp_path, monkeypatch):
    drawn = []
    from matplotlib.axes import Axes

    monkeypatch.setattr(Axes, "set_title", lambda _, text, **__: drawn.append(text))
    words = ["a", "red", "circle", "left", "of", "a", "blue", "square"]
    weights = np.eye(9)[:8].reshape(8, 3, 3)
    plot_caption(Image.new("RGB", (60, 40)), words, weights, tmp_path / "x.png", hard=True)
    assert drawn == words


def test_json_line_plot_and_words_from_the_command(soft_run, photo, tmp_path):
    plot = tmp_path / "words.png"
    found = json.loads(command("caption", photo, "--model", str(soft_run), "--json", "--plot", str(plot), "--alpha=1"))
    assert list(found) == ["image", "caption", "words", "weights", "score"]
    assert found["image"] == photo
    assert np.shape(found["weights"]) == (len(found["words"]), 4, 4)
    assert plot.exists()


def test_every_photograph_and_its_alternatives_on_a_line(soft_run, photo, capsys):
    caption_verb(photo, photo, model=str(soft_run), n_best=2)
    assert len(capsys.readouterr().out.splitlines()) == 4


@pytest.fixture
def _without_java(monkeypatch):
    """METEOR's Java program takes seconds to start; tests of its own are in test_evaluation."""
    monkeypatch.setattr("regard.captioning.report.meteor_missing", lambda: "left out")


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
    said = soft.caption(str(scenes / "dev/images/000000.png")).text
    image = scenes / "dev/images/000000.png"
    examples = [Example(image, ("a dog", f"{said.capitalize()} .")), Example(image, (said + " too",))]
    assert evaluate(soft, examples).exact == 0.5


def test_looks_by_hand():
    still, moving = np.zeros((3, 2, 2)), np.full((2, 2, 2), 0.25)
    still[:, 0, 0] = 1
    assert looks_of([still]) == (0.0, 0.0)
    assert looks_of([moving]).entropy == pytest.approx(np.log(4))
    assert looks_of([np.stack([still[0], still[0].T[::-1]])]).moves == 1.0
    assert looks_of([np.zeros((0, 2, 2))]) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("words", "options", "said"),
    [
        ([], {}, "there is no photograph to describe"),
        (["a.jpg"], {"model": "nowhere"}, "no model is called 'nowhere'"),
        (["a.jpg", "b.jpg"], {"plot": Path("x.png")}, "--plot draws one photograph; 2 given"),
        (["a.jpg"], {"plot": Path("x.bmp")}, "a figure's name ends in"),
    ],
)
def test_what_a_person_can_mend_is_said(words, options, said):
    with pytest.raises(InputError, match=said):
        caption_verb(*words, **options)


def test_errors_name_the_file(soft, soft_run, tmp_path):
    (tmp_path / "text.jpg").write_text("no picture")
    with pytest.raises(DataError, match=r"text\.jpg is no photograph"):
        soft.caption(tmp_path / "text.jpg")
    with pytest.raises(CheckpointError, match="a translator needs 'translate'"):
        regard.Translator.load(soft_run)
