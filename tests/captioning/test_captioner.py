"""Photographs in, captions and pictures of their attention out."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

import regard
from regard.captioning.results import Caption
from regard.errors import CheckpointError, DataError


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


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_figures_of_every_ending(soft, photo, tmp_path, ending):
    path = soft.caption(photo, beam=2, alpha=1.0, max_length=7).plot(tmp_path / f"words.{ending}")
    assert path.stat().st_size > 5000


def test_errors_name_the_file(soft, soft_run, tmp_path):
    (tmp_path / "text.jpg").write_text("no picture")
    with pytest.raises(DataError, match=r"text\.jpg is no photograph"):
        soft.caption(tmp_path / "text.jpg")
    with pytest.raises(CheckpointError, match="a translator needs 'translate'"):
        regard.Translator.load(soft_run)
