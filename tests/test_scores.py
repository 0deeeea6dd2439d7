"""Every score by hand, against loops, by what must hold of it, and by its steps; and scores of one's own."""

import math
import re
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from regard import Step, attend, attend_local, scores
from regard.errors import InputError, RegardError, ShapeError, UnknownName
from regard.show.terminal import print_steps
from tests import naive

K = np.ones((4, 3))
BY_HAND: dict[str, Any] = {
    # 5*3 + 1*12 + 20*45; 5*59 + 1*2 + 20*5
    "dot": (scores.Dot(), [[5, 1, 20]], [[3, 12, 45], [59, 2, 5]], [[927, 397]]),
    # (3*1 + 4*2) / √2
    "scaled_dot": (scores.ScaledDot(), [[3, 4]], [[1, 2]], [[11 / math.sqrt(2)]]),
    # 24 / (5*5); the same direction; the opposite one; nothing
    "cosine": (scores.Cosine(), [[3, 4]], [[4, 3], [6, 8], [-3, -4], [0, 0]], [[0.96, 1, -1, 0]]),
    # W k = (3, 4); 1*3 + 2*4
    "general": (scores.General([[1, 0, 2], [0, 3, 1]]), [[1, 2]], [[1, 1, 1]], [[11]]),
    # tanh(0.5 + 0.5) + 2 tanh(-0.5 - 0.5)
    "additive": (scores.Additive(np.eye(2), [[1], [-1]], [1, 2]), [[0.5, -0.5]], [[0.5]], [[-math.tanh(1)]]),
    "concat": (scores.Concat([[1, 0, 1], [0, 1, -1]], [1, 2]), [[0.5, -0.5]], [[0.5]], [[-math.tanh(1)]]),
    # the rows of W times (1, 1), as many as there are keys
    "location": (scores.Location([[1, 2], [3, 4], [5, 6]]), [[1, 1]], [[9, 9], [7, 7]], [[3, 7]]),
}


def random_scores(d, keys, rng, hidden=5):
    W, W_q, W_k, W_l = (rng.normal(size=shape) for shape in ((d, d), (hidden, d), (hidden, d), (keys, d)))
    v = rng.normal(size=hidden)
    return {
        "dot": (scores.Dot(), naive.dot),
        "scaled_dot": (scores.ScaledDot(), naive.scaled_dot),
        "cosine": (scores.Cosine(), naive.cosine),
        "general": (scores.General(W), naive.general(W)),
        "additive": (scores.Additive(W_q, W_k, v), naive.additive(W_q, W_k, v)),
        "concat": (scores.Concat(np.hstack([W_q, W_k]), v), naive.concat(np.hstack([W_q, W_k]), v)),
        "location": (scores.Location(W_l), None),
    }


@pytest.mark.parametrize("name", BY_HAND)
def test_the_numbers_that_a_person_gets(name):
    score, query, key, expected = BY_HAND[name]
    got = score(np.array(query, float), np.array(key, float))
    assert_allclose(got, expected, rtol=1e-15, atol=1e-15)
    assert_allclose(attend(np.array(query[0], float), np.array(key, float), score=score).scores, got[0])


@pytest.mark.parametrize("name", BY_HAND)
@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 7), st.sampled_from([1, 2, 3]))
def test_the_loops_give_the_same(name, seed, q, k, d):
    rng = np.random.default_rng(seed)
    query, key = rng.normal(size=(q, d)), rng.normal(size=(k, d))
    score, loop = random_scores(d, k, rng)[name]
    pair = loop or (lambda a, b: naive.dot(score.W[[*map(tuple, key)].index(tuple(b))], a))
    expected = [[pair(a, b) for b in key] for a in query]
    assert_allclose(score(query, key), expected, rtol=1e-10, atol=1e-12)
    assert_allclose(score.steps(query, key)[-1].value, expected, rtol=1e-10, atol=1e-12)
    picked = np.broadcast_to(key, (q, k, d))
    assert_allclose(score.at(query, picked, np.broadcast_to(np.arange(k), (q, k))), expected, rtol=1e-10, atol=1e-12)


@settings(max_examples=50)
@given(st.integers(0, 2**32 - 1), st.floats(1e-3, 1e3))
def test_only_the_direction_counts_for_cosine_and_width_for_scaled_dot(seed, factor):
    query, key = np.random.default_rng(seed).normal(size=(2, 5, 3))
    cosine = scores.Cosine()(query, key)
    assert_allclose(scores.Cosine()(factor * query, key), cosine, rtol=1e-9, atol=1e-12)
    assert (np.abs(cosine) <= 1 + 1e-12).all()
    twice = scores.ScaledDot()(np.tile(query, 4), np.tile(key, 4))  # four times the width, twice the score
    assert_allclose(twice, 2 * scores.ScaledDot()(query, key), rtol=1e-12)


def test_scores_that_are_each_other():
    rng = np.random.default_rng(0)
    query, key, W, v = (rng.normal(size=shape) for shape in ((5, 3), (7, 3), (4, 6), 4))
    assert_allclose(scores.General(np.eye(3))(query, key), scores.Dot()(query, key), rtol=1e-12)
    assert_allclose(scores.Concat(W, v)(query, key), scores.Additive(W[:, :3], W[:, 3:], v)(query, key), rtol=1e-12)
    assert_allclose(
        scores.SumOfTanh(v)(query @ W[:, :3].T, key @ W[:, 3:].T), scores.Concat(W, v)(query, key), rtol=1e-12
    )


@pytest.mark.parametrize("queries", [1, 2])
@pytest.mark.parametrize("name", BY_HAND)
def test_steps_name_axes_that_they_have_and_steps_that_came_before(name, queries):
    rng = np.random.default_rng(0)
    score, _ = random_scores(3, 7, rng)[name]
    query = rng.normal(size=(2, 3)) if queries == 2 else rng.normal(size=3)
    sizes = {"q": 2, "k": 7, "d": 3, "v": 4, "h": 5}
    known: set[str] = set()
    for step in attend(query, rng.normal(size=(7, 3)), rng.normal(size=(7, 4)), score=score).steps():
        assert step.value.shape == tuple(sizes[axis] for axis in step.axes), step.name
        assert ("q" in step.axes) == (queries == 2 and "k" not in step.axes[:1])
        assert set(step.made_from) <= known
        assert bool(step.made_from) == (step.name not in ("query", "keys", "values"))
        known.add(step.name)


@pytest.mark.parametrize("name", BY_HAND)
def test_a_score_depends_on_what_its_steps_are_made_from(name):
    rng = np.random.default_rng(1)
    query, key = rng.normal(size=(2, 3)), rng.normal(size=(7, 3))
    score, _ = random_scores(3, 7, rng)[name]
    steps = {step.name: step for step in attend(query, key, score=score).steps()}
    reached, waiting = set(), ["scores"]
    while waiting:
        step = steps[waiting.pop()]
        reached.add(step.name)
        waiting += step.made_from
    other_keys = score(query, key + 1)
    assert ("keys" in reached) == (not np.allclose(other_keys, score(query, key)))
    assert "query" in reached


class Turned(scores.Score):
    """q · (k turned round), with a table of pairs on the way."""

    name, formula = "turned", "query · turned key"

    def __init__(self, *, named):
        self.named = named

    def __call__(self, query, key):
        return query @ np.swapaxes(key[..., ::-1], -1, -2)

    def steps(self, query, key):
        pairs = query[..., :, None, :] * key[..., None, :, ::-1]
        steps = [
            Step("turned keys", "key, last number first", key[..., ::-1], ("k", "d"), ("keys",), ("d",)),
            Step("pairs", "query * turned key", pairs, ("q", "k", "d"), ("query", "turned keys")),
            Step("scores", "sum of the pairs", self(query, key), ("q", "k"), ("pairs",)),
        ]
        return steps if self.named else [Step(*step[:3]) for step in steps]


KEYS = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


@pytest.mark.parametrize("named", [True, False])
def test_a_score_of_ones_own_keeps_its_tables_for_one_query(named):
    steps = {step.name: step for step in attend([1.0, 10.0], KEYS, score=Turned(named=named)).steps()}
    assert steps["turned keys"].value.tolist() == [[2, 1], [4, 3], [6, 5]]
    assert steps["pairs"].value.tolist() == [[2, 10], [4, 30], [6, 50]]
    assert steps["scores"].value.tolist() == [12, 34, 56]
    assert steps["scores"].axes == ("k",)


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("query", [[1.0, 10.0], [[1.0, 10.0], [10.0, 1.0]]], ids=["one", "two"])
def test_a_score_of_ones_own_is_shown_drawn_and_written(query, named, capsys, tmp_path):
    attended = attend(query, KEYS, score=Turned(named=named))
    attended.show()
    printed = " ".join(capsys.readouterr().out.split())
    assert "turned keys key, last number first 2 1 4 3 6 5" in printed
    pairs = "pairs query * turned key 2 10 4 30 6 50"
    assert (pairs if np.ndim(query) == 1 else pairs.replace("pairs", "pairs of query 1")) in printed
    assert attended.plot(tmp_path / "own.svg").stat().st_size > 1000
    assert '"turned keys"' in attended.html(tmp_path / "own.html").read_text()


def test_one_step_without_names_is_of_query_and_keys():
    class Plain(Turned):
        def steps(self, query, key):
            return [Step("likeness", "query ~ key", self(query, key))]

    (own,) = (step for step in attend([1.0, 10.0], KEYS, score=Plain(named=False)).steps() if step.name == "likeness")
    assert (own.axes, own.made_from, own.value.tolist()) == (("k",), ("query", "keys"), [12, 34, 56])


def test_batches_keep_their_axes_before_those_that_are_named():
    for named in (True, False):
        attended = attend(np.ones(2), np.stack([KEYS, KEYS + 1]), score=Turned(named=named))
        shapes = {step.name: step.value.shape for step in attended.steps()}
        assert shapes["turned keys"] == (2, 3, 2)
        assert shapes["pairs"] == (2, 3, 2)
        assert shapes["scores"] == (2, 3)


def test_axes_that_a_step_does_not_have_are_refused():
    class Wrong(Turned):
        def steps(self, query, key):
            first, *rest = super().steps(query, key)
            return [first._replace(axes=("q", "d")), *rest]

    text = "the step 'turned keys' names its last axes (q = 1, d); its value is (3, 2). Name the axes it has."
    with pytest.raises(ShapeError, match=re.escape(text)):
        attend([1.0, 10.0], KEYS, score=Wrong(named=True)).steps()


def test_a_step_by_itself_is_the_table_it_is(capsys):
    from rich.console import Console

    print_steps([Step("own", "given", np.eye(2)), Step("more", "given", np.ones(2))], Console())
    assert capsys.readouterr().out.split() == ["own", "given", *"1001", "more", "given", *"11"]


REFUSED = {
    "unknown score": (
        lambda: attend(np.ones(3), K, score="aditive"),
        UnknownName,
        "no score is called 'aditive'; choose from dot, scaled_dot, cosine, general, additive, concat, location. "
        "Did you mean 'additive'?",
    ),
    "score with weights": (
        lambda: attend(np.ones(3), K, score="additive"),
        InputError,
        "pass score=scores.Additive(W_q, W_k, v)",
    ),
    "score of another kind": (lambda: attend(np.ones(3), K, score=3), InputError, "score must be a name or a callable"),
    "mismatched widths": (
        lambda: attend(np.ones((2, 5)), K),
        ShapeError,
        "scaled_dot compares vectors of one width: query (2, 5) has width 5, key (4, 3) has width 3",
    ),
    "mismatched widths of tensors": (
        lambda: attend(torch.ones(2, 5), torch.ones(4, 3)),
        ShapeError,
        "scaled_dot compares vectors of one width: query (2, 5) has width 5, key (4, 3) has width 3",
    ),
    "general's W": (
        lambda: attend(np.ones(3), K, score=scores.General(np.ones((3, 4)))),
        ShapeError,
        "W must be (query width, key width) = (3, 3); it is (3, 4)",
    ),
    "additive's W_q": (
        lambda: attend(np.ones(3), K, score=scores.Additive(np.ones((2, 4)), np.ones((2, 3)), np.ones(2))),
        ShapeError,
        "W_q must be (hidden, query width) = (2, 3); it is (2, 4)",
    ),
    "concat's W": (
        lambda: attend(np.ones(3), K, score=scores.Concat(np.ones((2, 5)), np.ones(2))),
        ShapeError,
        "W must be (hidden, query width + key width) = (any, 6); it is (2, 5)",
    ),
    "location's rows": (
        lambda: attend(np.ones(3), K, score=scores.Location(np.ones((2, 3)))),
        ShapeError,
        "location scores know 2 positions",
    ),
    "location's rows in a window": (
        lambda: attend_local(K, K, width=1, score=scores.Location(np.ones((2, 3)))),
        ShapeError,
        "location scores know 2 positions",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused_by_name(what):
    call, kind, text = REFUSED[what]
    with pytest.raises(kind, match=re.escape(text)) as caught:
        call()
    assert isinstance(caught.value, RegardError)
