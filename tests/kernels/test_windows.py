"""Windows against the same attention with a dense mask, at every edge: blocks, lengths, widths beyond the length."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from regard import masks
from regard.errors import DtypeError, InputError, RegardError, ShapeError, UnknownName
from regard.kernels import window_attention, window_weights, windows

SCORES = ["dot", "scaled_dot", "additive"]


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that short inputs have blocks inside, at the edges, and in several groups."""
    monkeypatch.setattr(windows, "_BLOCKS", (4, 8))
    monkeypatch.setattr(windows, "_WIDE", 6)
    monkeypatch.setattr(windows, "_CHUNK", 600)


def inputs(batch: tuple[int, ...], q: int, k: int, d: int = 5, e: int = 3, seed: int = 0) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    shapes = [(*batch, q, d), (*batch, k, d), (*batch, k, e), (d,)]
    return [torch.randn(s, generator=generator, dtype=torch.float64).requires_grad_() for s in shapes]


def dense_weights(query: Tensor, key: Tensor, v: Tensor | None, score: str, visible: Tensor) -> Tensor:
    if score == "additive":
        scores = torch.tanh(query.unsqueeze(-2) + key.unsqueeze(-3)) @ v
    else:
        scores = query @ key.mT / (query.shape[-1] ** 0.5 if score == "scaled_dot" else 1)
    weights = scores.masked_fill(~visible, -1e300).softmax(-1)
    return weights * visible


def visible_keys(q: int, k: int, width: int, causal: bool, lengths: Tensor | None, stay: bool = False) -> Tensor:
    seen = torch.from_numpy(masks.window(q, width, k, causal=causal))
    if lengths is None:
        lengths = torch.tensor(k)
    if stay:  # the windows of all queries as large as there are keys; those of the last key are repeated
        whole = torch.from_numpy(masks.window(k, width, k, causal=causal))
        seen = whole[torch.minimum(torch.arange(q), (lengths[..., None] - 1).clamp(min=0))]
    return seen & (torch.arange(k) < lengths[..., None, None])


def gradients(context: Tensor, of: list[Tensor]) -> tuple[Tensor, ...]:
    grad = torch.randn(context.shape, generator=torch.Generator().manual_seed(9), dtype=context.dtype)
    return torch.autograd.grad(context, of, grad)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("stay", [False, True])
@given(
    q=st.integers(1, 40),
    k=st.integers(1, 40),
    width=st.integers(1, 45),
    lengths=st.one_of(st.none(), st.tuples(st.integers(0, 40), st.integers(0, 40))),
    seed=st.integers(0, 99),
)
@settings(max_examples=10, deadline=None)
def test_equals_attention_with_the_mask(
    score: str, causal: bool, stay: bool, q: int, k: int, width: int, lengths: tuple[int, int] | None, seed: int
) -> None:
    query, key, value, v = inputs((2, 3), q, k, seed=seed)
    ends = None if lengths is None else torch.tensor(lengths).clamp(max=k)
    extra: dict[str, Any] = {"v": v} if score == "additive" else {}
    options: dict[str, Any] = {"width": width, "causal": causal, "score": score, "lengths": ends, "stay": stay}
    context = window_attention(query, key, value, **options, **extra)
    visible = visible_keys(q, k, width, causal, None if ends is None else ends[:, None], stay)
    expected = dense_weights(query, key, v, score, visible) @ value
    torch.testing.assert_close(context, expected)
    tensors = [query, key, value, *extra.values()]
    torch.testing.assert_close(gradients(context, tensors), gradients(expected, tensors))


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("causal", [False, True])
def test_gradcheck(score: str, causal: bool) -> None:
    query, key, value, v = inputs((2,), 13, 13, d=2, e=2)
    lengths = torch.tensor([13, 4])

    def context(query: Tensor, key: Tensor, value: Tensor, v: Tensor) -> Tensor:
        extra: dict[str, Any] = {"v": v} if score == "additive" else {}
        return window_attention(query, key, value, width=3, causal=causal, score=score, lengths=lengths, **extra)

    assert torch.autograd.gradcheck(context, (query, key, value, v.requires_grad_(score == "additive")), fast_mode=True)


def test_by_hand() -> None:
    query = torch.tensor([[1.0], [1.0], [0.0]])
    key = torch.tensor([[0.0], [torch.log(torch.tensor(3.0))], [5.0]])
    value = torch.tensor([[4.0], [8.0], [12.0]])
    context = window_attention(query, key, value, width=1, causal=True, score="dot")
    torch.testing.assert_close(context, torch.tensor([[4.0], [7.0], [10.0]]))


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("q", "k"), [(23, 23), (9, 30), (30, 9)])
def test_weights_are_the_band_of_the_dense_ones(score: str, causal: bool, q: int, k: int) -> None:
    width, lengths = 7, torch.tensor([k, 4])
    query, key, _, v = inputs((2,), q, k)
    extra: dict[str, Any] = {"v": v} if score == "additive" else {}
    band = window_weights(query, key, width=width, causal=causal, score=score, lengths=lengths, **extra)
    across = width + 1 if causal else 2 * width + 1
    assert band.shape == (2, q, across)
    dense = dense_weights(query, key, v, score, visible_keys(q, k, width, causal, lengths))
    for i in range(q):
        for j in range(across):
            place = i - width + j
            expected = dense[:, i, place] if 0 <= place < k else torch.zeros(2, dtype=torch.float64)
            torch.testing.assert_close(band[:, i, j], expected)
    assert torch.autograd.grad(band.square().sum(), query)[0].abs().sum() > 0


def test_a_query_that_sees_nothing_gets_zeros_both_ways() -> None:
    query, key, value, _ = inputs((1,), 20, 20)
    context = window_attention(query, key, value, width=2, lengths=torch.tensor([5]))
    assert (context[0, 7:] == 0).all()
    assert (context[0, :7] != 0).all()
    of_query, of_key, of_value = torch.autograd.grad(context.sum(), (query, key, value))
    assert (of_query[0, 7:] == 0).all()
    assert (of_key[0, 5:] == 0).all()
    assert (of_value[0, 5:] == 0).all()
    assert (of_value[0, :5] != 0).all()


def test_hidden_keys_may_hold_anything() -> None:
    query, key, value, _ = (x.detach() for x in inputs((2,), 20, 20))
    expected = window_attention(query, key, value, width=3, lengths=torch.tensor([20, 11]))
    key[1, 11:], value[1, 11:] = torch.nan, torch.inf
    torch.testing.assert_close(window_attention(query, key, value, width=3, lengths=torch.tensor([20, 11])), expected)


def test_only_the_gradients_that_are_wanted() -> None:
    query, key, value, v = inputs((2,), 20, 20)
    visible = visible_keys(20, 20, 3, False, None)
    expected = dense_weights(query, key, v, "additive", visible) @ value
    for wanted in ([key], [v], [query, v], [value]):
        for x in (query, key, value, v):
            x.requires_grad_(any(x is w for w in wanted))
        context = window_attention(query, key, value, width=3, score="additive", v=v)
        expected = dense_weights(query, key, v, "additive", visible) @ value
        torch.testing.assert_close(gradients(context, wanted), gradients(expected, wanted))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_other_dtypes(dtype: torch.dtype) -> None:
    query, key, value, _ = (x.detach() for x in inputs((2,), 40, 40))
    context = window_attention(query.to(dtype), key.to(dtype), value.to(dtype), width=3)
    assert context.dtype == dtype
    tolerance = 1e-5 if dtype == torch.float32 else 0.05
    expected = window_attention(query, key, value, width=3)
    torch.testing.assert_close(context.double(), expected, rtol=tolerance, atol=tolerance)


def test_real_block_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    for width, causal in ((5, False), (100, True), (600, False)):
        query, key, value, _ = inputs((1, 2), 1500, 1500)
        visible = visible_keys(1500, 1500, width, causal, None)
        expected = dense_weights(query, key, None, "dot", visible) @ value
        context = window_attention(query, key, value, width=width, causal=causal, score="dot")
        torch.testing.assert_close(context, expected)
        tensors = [query, key, value]
        torch.testing.assert_close(gradients(context, tensors), gradients(expected, tensors))


def test_no_map_of_queries_by_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest tensor that any operation makes grows with the width, not with the square of the length."""
    monkeypatch.undo()
    largest = 0

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            nonlocal largest
            out = func(*args, **(kwargs or {}))
            for x in torch.utils._pytree.tree_leaves(out):
                if isinstance(x, Tensor):
                    largest = max(largest, x.untyped_storage().nbytes() // x.element_size())
            return out

    n = 30_000
    query, key, value, _ = (x.detach().float().requires_grad_() for x in inputs((1,), n, n, d=4, e=4))
    with Watch():
        window_attention(query, key, value, width=8).sum().backward()
    assert 0 < largest <= windows._CHUNK < n * n // 100


@pytest.mark.parametrize("shape", [((0,), 5, 5), ((2,), 0, 5), ((2,), 5, 0)])
def test_nothing_in_nothing_out(shape: tuple[tuple[int, ...], int, int]) -> None:
    query, key, value, _ = inputs(*shape)
    context = window_attention(query, key, value, width=2)
    assert context.shape == (*shape[0], shape[1], 3)
    assert (context == 0).all()
    assert window_weights(query, key, width=2).shape == (*shape[0], shape[1], 5)


@pytest.mark.parametrize("causal", [False, True])
def test_a_window_wider_than_anything_costs_no_more(causal: bool) -> None:
    query, key, value, _ = inputs((2,), 6, 9)
    torch.testing.assert_close(
        window_attention(query, key, value, width=10**15, causal=causal),
        window_attention(query, key, value, width=9, causal=causal),
    )
    wide, close = (window_weights(query, key, width=width, causal=causal) for width in (12, 9))
    torch.testing.assert_close(wide, torch.nn.functional.pad(close, (3, 0 if causal else 3)))


def test_second_order_is_refused_in_words() -> None:
    query, key, value, _ = inputs((1,), 6, 6)
    with pytest.raises(RegardError, match="first-order gradients only"):
        torch.autograd.grad(window_attention(query, key, value, width=2).sum(), query, create_graph=True)


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"width": 0}, InputError, "width must be a whole number >= 1, not 0"),
        ({"score": "scaled"}, UnknownName, "choose from dot, scaled_dot, additive. Did you mean 'scaled_dot'?"),
        ({"score": "additive"}, InputError, "score is 'additive' and v is missing"),
        ({"v": torch.zeros(5)}, InputError, "score is 'scaled_dot' and v was given"),
        ({"query": torch.zeros(6, 4)}, ShapeError, r"takes query \(\.\.\., q, d\).*query \(6, 4\)"),
        ({"query": np.zeros((6, 5))}, DtypeError, "query must be a torch tensor, not ndarray; other arrays go to"),
        ({"query": torch.zeros(6, 0), "key": torch.zeros(6, 0)}, ShapeError, "needs at least one number"),
        ({"value": torch.zeros(7, 3)}, ShapeError, "each key one value"),
        ({"value": torch.zeros(6, 3, dtype=torch.int64)}, DtypeError, "one floating-point dtype.*torch.int64"),
        ({"lengths": torch.tensor(7)}, InputError, "from 0 to the number of keys, 6; they are 7"),
        ({"lengths": torch.tensor([3])}, ShapeError, r"lengths \(1,\) must have the leading sizes \(\)"),
        ({"lengths": torch.tensor(3.0)}, DtypeError, "lengths must be whole numbers, not torch.float32"),
    ],
)
def test_what_cannot_be_taken(change: dict[str, Any], error: type[Exception], text: str) -> None:
    arguments: dict[str, Any] = {"query": torch.zeros(6, 5), "key": torch.zeros(6, 5), "value": torch.zeros(6, 3)}
    with pytest.raises(error, match=text):
        window_attention(**{"width": 2, **arguments, **change})


@pytest.mark.parametrize("score", ["dot", "additive"])
def test_autocast_changes_nothing(score):
    """Neither the context, written piece by piece into one tensor, nor its gradients."""
    generator = torch.Generator().manual_seed(1)
    query, key, value = (torch.randn(3, 9, 4, generator=generator).requires_grad_() for _ in range(3))
    options = {"width": 2, "score": score, "v": torch.ones(4) if score == "additive" else None}
    lengths = torch.tensor([9, 5, 3])

    def look(autocast):
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            context = window_attention(query, key, value, lengths=lengths, **options)
            weights = window_weights(query, key, **options)
        return context, weights, *torch.autograd.grad(context.sum(), (query, key, value))

    assert all(torch.equal(one, two) for one, two in zip(look(True), look(False), strict=True))
