"""Scores of captions: by hand, and against the evaluation that the field uses."""

from __future__ import annotations

import math

import numpy as np
import pytest

from regard.captioning.metrics import caption_scores, meteor_missing, signature
from regard.errors import InputError

WORDS = [
    "a",
    "the",
    "man",
    "dog",
    "child",
    "runs",
    "jumps",
    "over",
    "with",
    "in",
    "red",
    "blue",
    "grass",
    "ball",
    "snow",
]


def sentence(generator, shortest=3):
    return " ".join(generator.choice(WORDS, int(generator.integers(shortest, 14))))


@pytest.fixture(scope="module")
def captions():
    """Candidates near to one of their references, with one to six references each."""
    generator = np.random.default_rng(3)
    references = [[sentence(generator) for _ in range(generator.integers(1, 7))] for _ in range(60)]
    candidates = [
        " ".join(word if generator.random() < 0.7 else generator.choice(WORDS) for word in several[0].split())
        for several in references
    ]
    return [*candidates[:-1], "ball"], references


def test_bleu_by_hand():
    # "a dog runs fast" and "a dog runs": 3 of 4 words, 2 of 3 pairs, 1 of 2 triples are there; 4 is not under 3
    scores = caption_scores(["a dog runs fast"], [["a dog runs", "dogs in a far field of grass"]])
    assert scores["bleu1"] == pytest.approx(75)
    assert scores["bleu2"] == pytest.approx(100 * math.sqrt(3 / 4 * 2 / 3))
    assert scores["bleu3"] == pytest.approx(100 * (3 / 4 * 2 / 3 * 1 / 2) ** (1 / 3))
    assert scores["bleu4"] == 0


def test_bleu_takes_the_closest_reference_for_the_length_and_the_shorter_of_two_as_close():
    at_4 = caption_scores(["a b c d"], [["a b c d e f", "x y z"]])["bleu1"]
    assert at_4 == pytest.approx(100)  # 3 is closer to 4 than 6
    at_5 = caption_scores(["a b c d e"], [["a b c d e f", "x y z w"]])["bleu1"]
    assert at_5 == pytest.approx(100)
    assert caption_scores(["a b c"], [["a b c d"]])["bleu1"] == pytest.approx(100 * math.exp(1 - 4 / 3))


def test_rouge_l_by_hand():
    # common: "a runs" of 3 and of 4 words
    recall, precision = 2 / 4, 2 / 3
    by_hand = (1 + 1.2**2) * precision * recall / (recall + 1.2**2 * precision)
    assert caption_scores(["a cat runs"], [["a dog runs away"]])["rouge_l"] == pytest.approx(100 * by_hand)


def test_cider_d_by_hand():
    # Two pictures; each word is in one of them, so all weigh log 2. Pairs likewise; there are no triples.
    # First: the same two words, so 1 for words and for pairs. Second: one of two words, no pair.
    scores = caption_scores(["red dog", "blue cat"], [["red dog"], ["blue bird"]])
    assert scores["cider_d"] == pytest.approx(100 * 10 * ((1 + 1) / 4 + (1 / 2) / 4) / 2)


def test_perfect_captions():
    captions = ["a red dog runs in the snow", "two children play with a ball", "a man on a blue bicycle jumps"]
    scores = caption_scores(captions, [[c] for c in captions])
    assert all(scores[name] == pytest.approx(100) for name in ("bleu1", "bleu2", "bleu3", "bleu4", "rouge_l"))
    assert scores["cider_d"] == pytest.approx(1000)


def test_case_and_punctuation_do_not_count():
    assert caption_scores(["A dog, running!"], [["a dog running ."]])["rouge_l"] == pytest.approx(100)


def test_an_empty_caption_scores_nothing_and_breaks_nothing():
    scores = caption_scores(["", "a dog"], [["a cat"], ["a dog"]])
    assert scores["rouge_l"] == pytest.approx(50)
    assert all(math.isfinite(score) for score in scores.values())
    assert caption_scores([""], [["a cat"]])["bleu1"] == 0


def test_against_pycocoevalcap(captions):
    pytest.importorskip("pycocoevalcap", reason="pycocoevalcap, the evaluation to compare with, is not installed")
    from pycocoevalcap.bleu.bleu import Bleu
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.rouge.rouge import Rouge

    candidates, references = captions
    found, known = {i: [c] for i, c in enumerate(candidates)}, dict(enumerate(references))
    bleus, _ = Bleu(4).compute_score(known, found, verbose=0)
    theirs = {f"bleu{n}": bleu for n, bleu in enumerate(bleus, 1)}
    theirs |= {"rouge_l": Rouge().compute_score(known, found)[0], "cider_d": Cider().compute_score(known, found)[0]}
    ours = caption_scores(candidates, references)
    assert ours.keys() == theirs.keys()
    for name, score in theirs.items():
        assert ours[name] == pytest.approx(100 * score, abs=1e-6), name


def test_meteor_is_that_of_pycocoevalcap():
    if missing := meteor_missing():
        pytest.skip(missing)
    same = caption_scores(["a dog runs in the snow"], [["a dog runs in the snow"]], meteor=True)["meteor"]
    stem = caption_scores(["a dog running in the snow"], [["a dog runs in the snow"]], meteor=True)["meteor"]
    other = caption_scores(["two red balls"], [["a dog runs in the snow"]], meteor=True)["meteor"]
    assert same == pytest.approx(100)
    assert 100 > stem > 50 > other


def test_meteor_says_what_it_lacks(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda _: None)
    pytest.importorskip("pycocoevalcap", reason="pycocoevalcap, which brings METEOR, is not installed")
    with pytest.raises(InputError, match="METEOR needs a Java runtime"):
        caption_scores(["a dog"], [["a dog"]], meteor=True)


def test_the_signature_says_what_was_computed():
    assert "closest" in signature()
    assert "meteor" not in signature()
    assert "meteor:1.5" in signature(meteor=True)


@pytest.mark.parametrize(
    ("candidates", "references", "message"),
    [
        ([], [], "no captions"),
        (["a"], [], "got 1 and 0"),
        (["a"], [[]], "caption 0 has no reference"),
        (["a", "b"], [["a"], ["...", ""]], "caption 1 has no reference"),
        ("a dog", [["a"]], "plain text"),
        (["a dog"], ["a dog"], "plain text"),
    ],
)
def test_what_cannot_be_scored(candidates, references, message):
    with pytest.raises(InputError, match=message):
        caption_scores(candidates, references)
