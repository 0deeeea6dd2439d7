"""Reductions of a map against loops over its weights in float64: both paths, every mask, every subset."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from regard.errors import DtypeError, InputError, ShapeError
from regard.kernels import dispatch, streams, streams_cpu, streams_plain
from regard.kernels.streams import Reductions, map_reductions

PATHS: list[dispatch.Path] = ["plain", "compiled"]
ALL: dict[str, Any] = {"entropy": True, "received": True, "top": 3}


@pytest.fixture(autouse=True)
def _small_strips(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that short inputs have several strips, the last of them cut."""
    monkeypatch.setattr(streams, "_MOST_ROWS", 9)
    monkeypatch.setattr(streams, "_CONVERTED", 200)


def inputs(q: int, k: int, d: int = 7, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return 2 * torch.randn(q, d, generator=generator), torch.randn(k, d, generator=generator)


def naive(
    query: Tensor,
    key: Tensor,
    *,
    scale: float | None = None,
    start: Tensor | None = None,
    end: Tensor | None = None,
    softcap: float | None = None,
    bias: Tensor | None = None,
    sink: float | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Weights (q, k) and log-sum-exps, number by number."""
    q, k = len(query), len(key)
    products = (query.double() @ key.double().T * (query.shape[1] ** -0.5 if scale is None else scale)).tolist()
    added = None if bias is None else bias.tolist()
    weights, lse = np.zeros((q, k)), np.full(q, -np.inf)
    for i in range(q):
        scores = {}
        for j in range(0 if start is None else max(0, int(start[i])), k if end is None else min(k, int(end[i]))):
            score = products[i][j]
            if softcap is not None:
                score = softcap * math.tanh(score / softcap)
            if bias is not None and added is not None:
                place = j if bias.shape == (k,) else j - i + q - 1
                score += added[i][j] if bias.ndim == 2 else added[place]
            scores[j] = score
        logits = [*scores.values(), *([] if sink is None else [sink])]
        most = max(logits, default=-math.inf)
        if most > -math.inf:
            lse[i] = most + math.log(sum(math.exp(x - most) for x in logits))
            for j, score in scores.items():
                weights[i, j] = math.exp(score - lse[i])
    return weights, lse


def pool(weights: np.ndarray, height: int, width: int, by: str) -> np.ndarray:
    cells: dict[tuple[int, int], list[float]] = {}
    q, k = weights.shape
    for i in range(q):
        for j in range(k):
            cells.setdefault((i * height // q, j * width // k), []).append(weights[i, j])
    out = np.full((height, width), np.nan)
    for cell, numbers in cells.items():
        out[cell] = max(numbers) if by == "max" else sum(numbers) / len(numbers)
    return out


def assert_right(found: Reductions, weights: np.ndarray, lse: np.ndarray, cells: tuple[int, int], by: str) -> None:
    close: dict[str, Any] = {"rtol": 1e-5, "atol": 1e-6}
    assert found.entropy is not None
    assert found.received is not None
    assert found.top is not None
    assert found.pooled is not None
    np.testing.assert_allclose(found.lse, lse, **close)
    logs = np.log(weights, where=weights > 0, out=np.zeros_like(weights))
    np.testing.assert_allclose(found.entropy, -(weights * logs).sum(1), **close)
    np.testing.assert_allclose(found.received, weights.sum(0), **close)
    np.testing.assert_allclose(found.pooled, pool(weights, *cells, by), **close)
    count = found.top.keys.shape[1]
    order = -np.sort(-np.pad(weights, ((0, 0), (0, count))), axis=1)[:, :count]
    np.testing.assert_allclose(found.top.weights, order, **close)
    keys = found.top.keys.numpy()
    at_keys = np.take_along_axis(weights, keys.clip(0), 1)
    np.testing.assert_allclose(found.top.weights, np.where(keys < 0, 0, at_keys), **close)
    assert ((keys < 0).sum(1) == (count - (weights > 0).sum(1)).clip(0)).all()


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("by", ["max", "mean"])
@given(
    data=st.data(),
    q=st.integers(1, 24),
    k=st.integers(1, 150),
    seed=st.integers(0, 99),
    masked=st.booleans(),
    softcap=st.sampled_from([None, 1.5, 30.0]),
    sink=st.sampled_from([None, -2.0, 0.3, 40.0]),
    biased=st.sampled_from([None, "key", "distance", "pair"]),
    scale=st.sampled_from([None, 1.0, -0.2]),
)
@settings(max_examples=15, deadline=None)
def test_equals_loops(
    path: dispatch.Path,
    by: Any,
    data: st.DataObject,
    q: int,
    k: int,
    seed: int,
    masked: bool,
    softcap: float | None,
    sink: float | None,
    biased: str | None,
    scale: float | None,
) -> None:
    query, key = inputs(q, k, seed=seed)
    how: dict[str, Any] = {"softcap": softcap, "sink": sink, "scale": scale}
    if masked:
        places = st.lists(st.integers(-3, k + 3), min_size=q, max_size=q)
        how |= {"start": torch.tensor(data.draw(places)), "end": torch.tensor(data.draw(places), dtype=torch.int32)}
    if biased is not None:
        shape = {"key": (k,), "distance": (q + k - 1,), "pair": (q, k)}[biased]
        how["bias"] = torch.randn(shape, generator=torch.Generator().manual_seed(seed))
    cells = data.draw(st.tuples(st.integers(1, q), st.integers(1, k)))
    with dispatch.forced(path):
        found = map_reductions(query, key, pool=cells, by=by, **ALL, **how)
    assert_right(found, *naive(query, key, **how), cells, by)


@pytest.mark.parametrize("path", PATHS)
def test_by_hand(path: dispatch.Path) -> None:
    """Scores log 3 and 0: weights 3/4 and 1/4."""
    query, key = torch.tensor([[1.0]]), torch.tensor([[math.log(3)], [0.0]])
    with dispatch.forced(path):
        found = map_reductions(query, key, scale=1, entropy=True, received=True, top=2, pool=(1, 1), by="mean")
    assert found.top is not None
    torch.testing.assert_close(found.lse, torch.tensor([math.log(4)]))
    torch.testing.assert_close(found.entropy, torch.tensor([math.log(4) - 0.75 * math.log(3)]))
    torch.testing.assert_close(found.received, torch.tensor([0.75, 0.25]))
    torch.testing.assert_close(found.top.weights, torch.tensor([[0.75, 0.25]]))
    assert found.top.keys.tolist() == [[0, 1]]
    torch.testing.assert_close(found.pooled, torch.tensor([[0.5]]))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("by", ["max", "mean"])
def test_long_rows(path: dispatch.Path, by: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Real strips, many blocks of keys, rows that grow and sink: the strongest key may be anywhere."""
    monkeypatch.undo()
    query, key = inputs(300, 5003, d=16)
    slope = torch.linspace(-3, 3, 5003)
    for bias in (slope, -slope):
        with dispatch.forced(path):
            found = map_reductions(query, key, bias=bias, entropy=True, received=True, top=16, pool=(7, 512), by=by)
        scores = query.double() @ key.double().T / 4 + bias
        weights, lse = scores.softmax(-1).numpy(), scores.logsumexp(-1).numpy()
        assert_right(found, weights, lse, (7, 512), by)


@pytest.mark.parametrize("path", PATHS)
def test_rows_that_look_nowhere_are_zero(path: dispatch.Path) -> None:
    query, key = inputs(30, 50)
    end = torch.arange(30) - 10
    with dispatch.forced(path):
        found = map_reductions(query, key, end=end, pool=(30, 50), **ALL)
        nothing = map_reductions(query, key, end=torch.zeros(30, dtype=torch.int64), pool=(2, 2), **ALL)
        sunk = map_reductions(query, key, end=end, sink=0.5, **ALL)
    assert found.entropy is not None
    assert found.top is not None
    assert found.pooled is not None
    assert nothing.received is not None
    assert (found.lse[:11] == -torch.inf).all()
    assert found.lse[11:].isfinite().all()
    for part in (found.entropy[:11], found.top.weights[:11], found.pooled[:11], nothing.received, nothing.pooled):
        assert part is not None
        assert (part == 0).all()
    assert (found.top.keys[:11] == -1).all()
    assert (sunk.lse[:11] == 0.5).all()


@pytest.mark.parametrize("path", PATHS)
def test_adjust_hides_and_adds(path: dispatch.Path) -> None:
    """What is neither a run nor a bias: a mask of single pairs, given strip by strip."""
    query, key = inputs(40, 60)
    hidden = torch.rand(40, 60, generator=torch.Generator().manual_seed(1)) < 0.5
    hidden[5] = True
    more = torch.randn(40, 60, generator=torch.Generator().manual_seed(2))

    def adjust(scores: Tensor, rows: slice, columns: slice) -> None:
        scores += more[rows, columns]
        scores.masked_fill_(hidden[rows, columns], -torch.inf)

    with dispatch.forced(path):
        found = map_reductions(query, key, softcap=2.0, adjust=adjust, pool=(4, 9), **ALL)
    capped = 2 * torch.tanh(query.double() @ key.double().T * 7**-0.5 / 2) + more
    scores = capped.masked_fill(hidden, -torch.inf)
    weights = scores.softmax(-1).nan_to_num(0).numpy()
    assert_right(found, weights, scores.logsumexp(-1).numpy(), (4, 9), "max")


@pytest.mark.parametrize("path", PATHS)
def test_only_what_is_asked_is_given_and_it_is_the_same(path: dispatch.Path) -> None:
    query, key = inputs(40, 60)
    asked: dict[str, Any] = {**ALL, "pool": (5, 7)}
    with dispatch.forced(path):
        whole = map_reductions(query, key, **asked)
        for name, value in asked.items():
            one = map_reductions(query, key, **{name: value})
            field = {"pool": "pooled"}.get(name, name)
            for part in ("lse", "entropy", "received", "top", "pooled"):
                if part in ("lse", field):
                    torch.testing.assert_close(getattr(one, part), getattr(whole, part), rtol=1e-6, atol=1e-7)
                else:
                    assert getattr(one, part) is None


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_widened_first(path: dispatch.Path, dtype: torch.dtype) -> None:
    query, key = (x.to(dtype) for x in inputs(40, 500))
    with dispatch.forced(path):
        found = map_reductions(query, key, pool=(4, 9), **ALL)
    assert found.lse.dtype == torch.float32
    assert_right(found, *naive(query, key), (4, 9), "max")


def test_float64_stays_float64() -> None:
    query, key = (x.double() for x in inputs(20, 30))
    with dispatch.forced("compiled"):
        found = map_reductions(query, key, pool=(4, 9), **ALL)
    assert found.received is not None
    assert found.received.dtype == torch.float64
    np.testing.assert_allclose(found.received, naive(query, key)[0].sum(0), rtol=1e-12)


@pytest.mark.parametrize("path", PATHS)
def test_of_equal_weights_the_first_is_the_strongest_of_a_kernel(path: dispatch.Path) -> None:
    with dispatch.forced(path):
        found = map_reductions(torch.zeros(2, 4), torch.zeros(900, 4), start=torch.tensor([0, 300]), top=3)
    assert found.top is not None
    torch.testing.assert_close(found.top.weights, torch.tensor([[1 / 900] * 3, [1 / 600] * 3]))
    if path == "compiled":
        assert found.top.keys.tolist() == [[0, 1, 2], [300, 301, 302]]


@pytest.mark.parametrize("path", PATHS)
def test_hidden_keys_may_hold_anything(path: dispatch.Path) -> None:
    query, key = inputs(20, 30)
    expected = map_reductions(query, key[:25], pool=(5, 5), **ALL)
    key[25:] = torch.nan
    with dispatch.forced(path):
        found = map_reductions(query, key, end=torch.full((20,), 25), **ALL)
    assert expected.received is not None
    assert found.received is not None
    torch.testing.assert_close(found.received[:25], expected.received)
    assert (found.received[25:] == 0).all()


@pytest.mark.parametrize("path", PATHS)
def test_numbers_that_are_none_are_not_hidden(path: dispatch.Path) -> None:
    query, key = inputs(20, 30)
    key[3] = torch.nan
    with dispatch.forced(path):
        assert map_reductions(query, key).lse.isnan().all()


@pytest.mark.parametrize("path", PATHS)
def test_large_scores_do_not_overflow(path: dispatch.Path) -> None:
    query, key = inputs(20, 30)
    with dispatch.forced(path):
        found = map_reductions(query * 1e4, key, pool=(20, 30), **ALL)
    assert found.received is not None
    assert found.top is not None
    assert found.received.isfinite().all()
    torch.testing.assert_close(found.top.weights.sum(-1), torch.ones(20))


@pytest.mark.parametrize("path", PATHS)
def test_gradients_and_autocast_change_nothing(path: dispatch.Path) -> None:
    query, key = inputs(20, 30)
    with dispatch.forced(path):
        expected = map_reductions(query, key).lse
        with torch.autocast("cpu", torch.bfloat16):
            found = map_reductions(query.requires_grad_(), key.requires_grad_()).lse
    assert torch.equal(found, expected)
    assert not found.requires_grad


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("q", "k"), [(0, 5), (5, 0)])
def test_nothing_in_nothing_out(path: dispatch.Path, q: int, k: int) -> None:
    with dispatch.forced(path):
        found = map_reductions(torch.zeros(q, 3), torch.zeros(k, 3), **ALL)
    assert found.received is not None
    assert found.top is not None
    assert found.received.tolist() == [0] * k
    assert (found.lse == -torch.inf).all()
    assert found.top.keys.shape == (q, 3)


def test_the_dispatcher_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    for module, name in ((streams_cpu, "compiled"), (streams_plain, "plain")):
        monkeypatch.setattr(module, "reductions", lambda *_, name=name: ran.append(name))
    small, large = inputs(5, 6), inputs(1024, 1024)
    map_reductions(*small)
    map_reductions(*large)
    with dispatch.forced("plain"):
        map_reductions(*large)
    with dispatch.forced("compiled"):
        map_reductions(*small)
        map_reductions(small[0] * torch.inf, small[1])
    assert ran == ["plain", "compiled", "plain", "compiled", "plain"]


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"query": torch.zeros(6, 4)}, ShapeError, r"query \(q, d\) and key \(k, d\).*query \(6, 4\), key \(7, 5\)"),
        ({"query": torch.zeros(2, 6, 5)}, ShapeError, r"query \(2, 6, 5\)"),
        ({"query": np.zeros((6, 5))}, DtypeError, "query must be a torch tensor, not ndarray"),
        ({"key": torch.zeros(7, 5, dtype=torch.int64)}, DtypeError, "key must be of floating-point numbers"),
        ({"start": torch.zeros(5, dtype=torch.int64)}, ShapeError, "start needs a key for each of the 6 queries"),
        ({"end": torch.zeros(6)}, DtypeError, "end must be whole numbers, not torch.float32"),
        ({"softcap": 0.0}, InputError, "softcap must be a positive number, or None for none; it is 0.0"),
        ({"bias": torch.zeros(6)}, ShapeError, r"each key \(7,\), of each distance \(12,\) or of each pair \(6, 7\)"),
        ({"top": -1}, InputError, "top is how many keys of each row are kept, 0 for none; it is -1"),
        ({"pool": (7, 7)}, ShapeError, "a map of 6 x 7 is pooled to at most as many cells.*pool is 7 x 7"),
        ({"pool": (2, 2), "by": "sum"}, InputError, "pooled by 'max' or 'mean', not by 'sum'"),
    ],
)
def test_what_cannot_be_taken(change: dict[str, Any], error: type[Exception], text: str) -> None:
    arguments: dict[str, Any] = {"query": torch.zeros(6, 5), "key": torch.zeros(7, 5)}
    with pytest.raises(error, match=text):
        map_reductions(**{**arguments, **change})
