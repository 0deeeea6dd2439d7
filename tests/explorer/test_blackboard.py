"""The blackboard models write what they were taught, number by number as one would on a blackboard."""

from __future__ import annotations

from itertools import product
from math import exp, tanh

import pytest

from regard.errors import UnknownName
from regard.explorer.blackboard import LONGEST, STOP, load, names, write

NOUNS = {"cat": "chat", "dog": "chien", "wolf": "loup"}
VERBS = {"sleeps": "dort", "eats": "mange", "sings": "chante"}
SENTENCES = {("the", n, v): ["le", NOUNS[n], VERBS[v]] for n, v in product(NOUNS, VERBS)}


def picture(above, below, column):
    return [above if cell == column else "sky" for cell in range(6)] + [below] * 3


def test_with_attention_all_nine_sentences_are_right_and_each_word_looks_most_at_what_it_names():
    model = load("words-attention")
    for source, target in SENTENCES.items():
        written = write(model, source)
        assert written.words == target
        assert written.steps[-1].word == STOP
        for t in (1, 2):
            weights = written.steps[t].weights
            assert sum(weights) == pytest.approx(1)
            assert weights.index(max(weights)) == t


def test_without_attention_one_number_does_not_keep_nine_sentences_apart():
    model = load("words-plain")
    right = [write(model, source).words == target for source, target in SENTENCES.items()]
    assert sum(right) == 4
    contexts = {step.context for step in write(model, ["the", "dog", "eats"]).steps}
    assert len(contexts) == 1


@pytest.mark.parametrize("hard", [False, True])
def test_the_grid_s_model_tells_every_picture_softly_and_hard(hard):
    model = load("grid")
    for above, below, column in product(("sun", "moon", "star"), ("hill", "sea", "wood"), range(3)):
        written = write(model, picture(above, below, column), hard=hard)
        assert written.words == [above, "over", below]
        if hard:
            assert all(sorted(step.weights) == [0.0] * 8 + [1.0] for step in written.steps)


def test_the_first_step_by_hand():
    model = load("words-attention")
    r, first, w = model["read"], model["first"], model["write"]
    h1 = tanh(r["x"] * model["source"]["the"] + r["b"])
    h2 = tanh(r["x"] * model["source"]["cat"] + r["h"] * h1 + r["b"])
    h3 = tanh(r["x"] * model["source"]["eats"] + r["h"] * h2 + r["b"])
    s0 = tanh(first["h"] * h3 + first["b"])
    one, two = model["align"]
    scores = [
        one["v"] * tanh(one["s"] * s0 + one["h"] * h + one["b"])
        + two["v"] * tanh(two["s"] * s0 + two["h"] * h + two["b"])
        for h in (h1, h2, h3)
    ]
    shares = [exp(score) for score in scores]
    context = sum(share * h for share, h in zip(shares, (h1, h2, h3), strict=True)) / sum(shares)
    s1 = tanh(w["s"] * s0 + w["y"] * model["target"]["[START]"] + w["c"] * context + w["b"])
    written = write(model, ["the", "cat", "eats"])
    assert written.states == pytest.approx([h1, h2, h3])
    assert written.steps[0].scores == pytest.approx(scores)
    assert written.steps[0].context == pytest.approx(context)
    assert written.steps[0].state == pytest.approx(s1)


def test_the_grid_s_first_state_comes_from_the_mean_of_its_cells():
    model, cells = load("grid"), picture("sun", "hill", 1)
    mean = sum(model["source"][cell] for cell in cells) / 9
    assert write(model, cells).first == pytest.approx(tanh(model["first"]["h"] * mean + model["first"]["b"]))


def test_one_that_never_stops_is_stopped():
    model = load("words-attention")
    model["output"][STOP]["b"] = -100
    assert len(write(model, ["the", "cat", "eats"]).steps) == LONGEST


def test_every_weight_has_two_decimals_and_there_are_few():
    def numbers(part):
        if isinstance(part, dict | list):
            return [n for one in (part.values() if isinstance(part, dict) else part) for n in numbers(one)]
        return [part]

    for name in names():
        found = numbers(load(name))
        assert len(found) < 60
        assert all(round(number, 2) == number for number in found)


def test_another_name_is_refused():
    with pytest.raises(UnknownName, match=r"no blackboard model is called 'word-attention'; .*words-attention"):
        load("word-attention")
