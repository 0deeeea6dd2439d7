"""Whether a captioner's attention matters: on photographs, and on mosaics of four of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from regard.captioning import faithfulness as module
from regard.captioning.corpus import CaptionCorpus
from regard.captioning.vocabulary import normalized
from regard.errors import DataError
from regard.text.interventions import uniform
from tests.captioning.untrained import untrained

INSIDE, PEAK, COST = (
    "mosaic: attention in the right quarter",
    "mosaic: peak in the right quarter",
    "mosaic: uniform weights cost",
)


@pytest.fixture(scope="module")
def captioner():
    return untrained()


@pytest.fixture(scope="module")
def examples(scenes):
    return list(CaptionCorpus(scenes / "dev"))


def test_a_captioner_is_measured_on_its_first_captions(captioner, examples, scenes):
    found = captioner.faithfulness(examples)
    assert found.examples == len(examples)
    first = [len(captioner.vocabulary.encode([normalized([e.captions[0]], captioner.config.vocabulary)[0]])[0])
             for e in examples]  # fmt: skip
    assert found.words == sum(first) + len(first)
    assert list(found.extra) == [INSIDE, PEAK, COST]
    assert 0 < found.extra[INSIDE].value < 1
    assert captioner.faithfulness(scenes / "dev") == found  # what is drawn is drawn the same


def test_uniform_attention_is_in_each_quarter_alike_and_nothing_is_lost_by_it(captioner, examples, monkeypatch):
    start = module._start
    monkeypatch.setattr(module, "_start", lambda *given: start(*given).normalized_by(uniform))
    found = captioner.faithfulness(examples)
    assert found.uniform.value == pytest.approx(0, abs=1e-6)
    assert found.entropy.value == pytest.approx(1)
    assert found.extra[INSIDE] == pytest.approx((0.25, 0.25, 0.25))
    assert found.extra[COST] == pytest.approx((0, 0, 0), abs=1e-6)


def test_a_mosaic_has_the_photograph_that_is_told_in_its_quarter(examples, monkeypatch):
    drawn = []
    monkeypatch.setattr(module, "open_photo", lambda image: image)
    monkeypatch.setattr(module, "picture_of", lambda photos: drawn.append(photos) or photos)
    for place in range(4):
        members: Any = module._mosaic(examples, 2, place, np.random.default_rng(place))
        assert members[place] == examples[2].image
        assert len(set(members)) == 4
    assert len(drawn) == 4


def test_many_photographs_are_spread_over_and_three_are_too_few(captioner, examples, monkeypatch):
    monkeypatch.setattr(module, "PHOTOGRAPHS", 5)
    assert module._spread(examples) == [examples[place] for place in (0, 2, 4, 7, 9)]
    with pytest.raises(DataError, match="a mosaic takes 4 photographs; there are 3"):
        captioner.faithfulness(examples[:3])
