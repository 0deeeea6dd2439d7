"""Additive scores against tanh written out, at the edges of their range, and under everything torch does with an op."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from regard.errors import DtypeError, RegardError, ShapeError
from regard.kernels import additive, additive_scores

SHAPES = [(2, 3, 5, 7), (1, 1, 1, 1), (3, 4, 8, 16), (2, 5, 3, 17), (1, 9, 65, 40), (2, 70, 33, 8), (1, 1, 30, 512)]


def by_tanh(query: Tensor, key: Tensor, v: Tensor) -> Tensor:
    return torch.tanh(query.unsqueeze(-2) + key.unsqueeze(-3)) @ v


def inputs(b: int, q: int, k: int, d: int, *, dtype: torch.dtype = torch.float64, seed: int = 0) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    shapes = ((b, q, d), (b, k, d), (d,))
    return [torch.randn(s, generator=generator, dtype=torch.float64).to(dtype).requires_grad_() for s in shapes]


def gradients(scores: Tensor, of: list[Tensor], seed: int = 1) -> tuple[Tensor, ...]:
    weights = torch.randn(scores.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return torch.autograd.grad(scores, of, weights.to(scores.dtype))


def test_one_score_by_hand() -> None:
    score = additive_scores(torch.tensor([[[0.25, -1.0]]]), torch.tensor([[[0.5, 3.0]]]), torch.tensor([2.0, -3.0]))
    assert score.item() == pytest.approx(2 * math.tanh(0.75) - 3 * math.tanh(2), rel=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-13), (torch.float32, 3e-5)])
def test_scores_and_gradients_are_those_of_tanh(shape: tuple[int, ...], dtype: torch.dtype, tolerance: float) -> None:
    given_, exact = inputs(*shape, dtype=dtype), inputs(*shape)
    exact = [x.detach().double().requires_grad_() for x in given_]
    scores, expected = additive_scores(*given_), by_tanh(*exact)
    assert scores.dtype == dtype
    torch.testing.assert_close(scores.double(), expected, rtol=tolerance, atol=tolerance)
    for found, wanted in zip(gradients(scores, given_), gradients(expected, exact), strict=True):
        torch.testing.assert_close(found.double(), wanted, rtol=tolerance, atol=tolerance)


@given(
    shape=st.tuples(st.integers(1, 3), st.integers(1, 9), st.integers(1, 9), st.integers(1, 20)),
    size=st.sampled_from([1e-3, 0.3, 1.0, 5.0, 20.0, 100.0, 1e4]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=60, deadline=None)
def test_any_shape_and_size(shape: tuple[int, ...], size: float, seed: int) -> None:
    query, key, v = inputs(*shape, seed=seed)
    query, key = (size * query).detach().requires_grad_(), (size * key).detach().requires_grad_()
    scores, expected = additive_scores(query, key, v), by_tanh(query, key, v)
    torch.testing.assert_close(scores, expected, rtol=1e-11, atol=1e-12)
    for found, wanted in zip(gradients(scores, [query, key, v]), gradients(expected, [query, key, v]), strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("v", ["random", "ones", "large and positive"])
@pytest.mark.parametrize("shape", [(4, 30, 30, 512), (2, 50, 50, 256), (1, 300, 300, 64)])
def test_float32_errs_no_more_than_tanh_written_out(shape: tuple[int, ...], v: str) -> None:
    single = inputs(*shape, dtype=torch.float32)
    if v != "random":
        single[2] = torch.full_like(single[2], 1.0 if v == "ones" else 100.0).requires_grad_()
    double = [x.detach().double().requires_grad_() for x in single]
    exact, ours, eager = by_tanh(*double), additive_scores(*single), by_tanh(*single)
    for name, reference, found, usual in zip(
        ("scores", "query", "key", "v"),
        (exact, *gradients(exact, double)),
        (ours, *gradients(ours, single)),
        (eager, *gradients(eager, single)),
        strict=True,
    ):
        error, allowed = ((x.double() - reference).square().mean().sqrt().item() for x in (found, usual))
        assert error <= allowed, name


def test_long_sums_of_gradients_err_no_more_than_usual_ones() -> None:
    single = inputs(1, 1000, 1000, 8, dtype=torch.float32)
    double = [x.detach().double().requires_grad_() for x in single]
    exact = torch.autograd.grad(by_tanh(*double).sum(), double)
    ours = torch.autograd.grad(additive_scores(*single).sum(), single)
    eager = torch.autograd.grad(by_tanh(*single).sum(), single)
    for name, reference, found, usual in zip(("query", "key", "v"), exact, ours, eager, strict=True):
        error, allowed = ((x.double() - reference).square().mean().sqrt().item() for x in (found, usual))
        assert error <= allowed, name


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-6), (torch.float64, 1e-14)])
def test_exact_up_to_forty(dtype: torch.dtype, tolerance: float) -> None:
    numbers = torch.tensor([-40.0, -39.5, -20.25, -1.0, 0.0, 0.5, 20.0, 39.75, 40.0], dtype=dtype)
    tensors = [x.requires_grad_() for x in (numbers.reshape(1, -1, 1), numbers.reshape(1, -1, 1), numbers.new_ones(1))]
    double = [x.detach().double().requires_grad_() for x in tensors]
    found, expected = additive_scores(*tensors), by_tanh(*double)
    torch.testing.assert_close(found.double(), expected, rtol=tolerance, atol=tolerance)
    ours, exact = (torch.autograd.grad(scores[0, 3:].sum(), x) for scores, x in ((found, tensors), (expected, double)))
    for gradient, wanted in zip(ours, exact, strict=True):
        torch.testing.assert_close(gradient.double(), wanted, rtol=3 * tolerance, atol=3 * tolerance)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_numbers_beyond_the_range_of_exp(dtype: torch.dtype) -> None:
    query = torch.tensor([1000.0, -1000.0, 0.25, 3e38, -50.0], dtype=dtype).reshape(1, -1, 1).requires_grad_()
    key = torch.tensor([-1000.5, 1000.0, 0.5, -3e38, 49.5], dtype=dtype).reshape(1, -1, 1).requires_grad_()
    v = torch.tensor([2.0], dtype=dtype, requires_grad=True)
    scores, expected = additive_scores(query, key, v), by_tanh(query, key, v)
    assert scores[0, 0, 0].item() == pytest.approx(2 * math.tanh(-0.5), rel=1e-5)
    torch.testing.assert_close(scores, expected, rtol=1e-6, atol=1e-6)
    for found, wanted in zip(gradients(scores, [query, key, v]), gradients(expected, [query, key, v]), strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_is_not_a_number_stays_with_its_pair(bad: float) -> None:
    query, key, v = (x.detach() for x in inputs(2, 6, 7, 9, dtype=torch.float32))
    expected = by_tanh(query, key, v)
    query[0, 2, 3] = key[1, 4, 0] = bad
    scores = additive_scores(query, key, v)
    torch.testing.assert_close(scores, by_tanh(query, key, v), equal_nan=True, rtol=1e-5, atol=1e-5)
    touched = torch.zeros(2, 6, 7, dtype=torch.bool)
    touched[0, 2, :] = touched[1, :, 4] = True
    torch.testing.assert_close(scores[~touched], expected[~touched], rtol=1e-5, atol=1e-5)
    assert scores[touched].isnan().all() == math.isnan(bad)


def test_a_nan_leaves_the_gradients_of_other_rows_alone() -> None:
    query, key, v = (x.detach() for x in inputs(1, 5, 6, 8))
    query[0, 1, 2] = math.nan
    query.requires_grad_()
    key.requires_grad_()
    grad = torch.ones(1, 5, 6, dtype=torch.float64)
    grad[0, 1] = 0
    of_query, of_key = torch.autograd.grad(additive_scores(query, key, v), (query, key), grad)
    wanted = torch.autograd.grad(by_tanh(query[:, [0, 2, 3, 4]], key, v).sum(), (query, key))
    torch.testing.assert_close(of_query[0, [0, 2, 3, 4]], wanted[0][0, [0, 2, 3, 4]])
    assert of_key[0, :, [0, 1, 3, 4, 5, 6, 7]].isfinite().all()


def test_gradcheck() -> None:
    assert torch.autograd.gradcheck(additive_scores, inputs(2, 3, 5, 11))


@pytest.mark.parametrize("wanted", [(0,), (1,), (2,), (0, 2), (1, 2), (0, 1)])
def test_only_the_gradients_that_are_wanted(wanted: tuple[int, ...]) -> None:
    tensors = [x.requires_grad_(i in wanted) for i, x in enumerate(inputs(2, 5, 6, 9))]
    of = [tensors[i] for i in wanted]
    found, expected = gradients(additive_scores(*tensors), of), gradients(by_tanh(*tensors), of)
    torch.testing.assert_close(found, expected)
    given: list[Any] = [*(x.detach() for x in tensors), *(i in wanted for i in range(3))]
    empty = additive.additive_gradients(torch.ones(2, 5, 6).double(), *given)
    assert [x.numel() > 0 for x in empty] == [i in wanted for i in range(3)]


def test_gradients_of_a_sum_and_of_a_transposed_view() -> None:
    tensors = inputs(2, 6, 7, 9)
    found = torch.autograd.grad(additive_scores(*tensors).sum(), tensors)
    torch.testing.assert_close(found, torch.autograd.grad(by_tanh(*tensors).sum(), tensors))
    found = gradients(additive_scores(*tensors).mT, tensors)
    torch.testing.assert_close(found, gradients(by_tanh(*tensors).mT, tensors))


def test_second_order_is_refused_in_words() -> None:
    tensors = inputs(1, 2, 3, 4)
    (grad,) = torch.autograd.grad(additive_scores(*tensors).sum(), tensors[:1], create_graph=True)
    with pytest.raises(RegardError, match="first-order gradients only"):
        grad.sum().backward()


def test_torch_accepts_the_ops() -> None:
    tensors = inputs(2, 3, 5, 9)
    torch.library.opcheck(torch.ops.regard.additive_scores.default, tuple(tensors))
    detached = [x.detach() for x in tensors]
    grad = torch.ones(2, 3, 5, dtype=torch.float64)
    torch.library.opcheck(torch.ops.regard.additive_scores_backward.default, (grad, *detached, True, False, True))


def test_compiles_into_one_graph() -> None:
    tensors = inputs(2, 3, 5, 9)
    compiled = torch.compile(lambda *x: additive_scores(*x).softmax(-1), fullgraph=True, backend="aot_eager")
    expected = by_tanh(*tensors).softmax(-1)
    torch.testing.assert_close(compiled(*tensors), expected)
    torch.testing.assert_close(gradients(compiled(*tensors), tensors), gradients(expected, tensors))


@pytest.mark.parametrize(
    ("query", "key"),
    [
        ((3, 7), (5, 7)),
        ((2, 4, 3, 7), (2, 4, 5, 7)),
        ((2, 4, 3, 7), (5, 7)),
        ((2, 1, 3, 7), (4, 5, 7)),
        ((3, 7), (2, 5, 7)),
    ],
)
def test_leading_dimensions_broadcast(query: tuple[int, ...], key: tuple[int, ...]) -> None:
    generator = torch.Generator().manual_seed(3)
    tensors = [torch.randn(s, generator=generator, dtype=torch.float64).requires_grad_() for s in (query, key, (7,))]
    scores, expected = additive_scores(*tensors), by_tanh(*tensors)
    torch.testing.assert_close(scores, expected)
    torch.testing.assert_close(gradients(scores, tensors), gradients(expected, tensors))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_float32(dtype: torch.dtype) -> None:
    tensors = inputs(2, 6, 5, 64, dtype=dtype)
    single = [x.detach().float().requires_grad_() for x in tensors]
    scores, expected = additive_scores(*tensors), additive_scores(*single)
    assert scores.dtype == dtype
    assert torch.equal(scores, expected.to(dtype))
    grads = torch.autograd.grad(scores.sum(), tensors), torch.autograd.grad(expected.sum(), single)
    assert all(torch.equal(a, b.to(dtype)) for a, b in zip(*grads, strict=True))


def test_dtypes_are_promoted() -> None:
    query, key, v = inputs(1, 2, 3, 4)
    assert additive_scores(query.float(), key.bfloat16(), v).dtype == torch.float64


@pytest.mark.parametrize("shape", [(0, 3, 4, 5), (2, 0, 4, 5), (2, 3, 0, 5), (2, 3, 4, 0)])
def test_nothing_in_nothing_out(shape: tuple[int, ...]) -> None:
    tensors = inputs(*shape)
    scores = additive_scores(*tensors)
    assert scores.shape == shape[:3]
    assert (scores == 0).all()
    assert [g.shape for g in torch.autograd.grad(scores.sum(), tensors)] == [x.shape for x in tensors]
    assert additive_scores(tensors[0][:, None], tensors[1][:, None], tensors[2]).shape == (shape[0], 1, *shape[1:3])


def test_rows_that_do_not_lie_together() -> None:
    query, key, v = inputs(2, 3, 5, 16)
    apart = query.detach().repeat(1, 1, 2)[..., ::2], key.detach().mT.contiguous().mT, v.detach().repeat(2)[16:]
    torch.testing.assert_close(additive_scores(*apart), by_tanh(*apart))


@pytest.mark.parametrize("chunk", [1, 50, 700, 1 << 22])
def test_the_chunked_path_of_other_devices(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(additive, "_CHUNK", chunk)
    tensors = inputs(3, 4, 5, 7)
    expected = by_tanh(*tensors)
    detached = [x.detach() for x in tensors]
    torch.testing.assert_close(additive.chunked_scores(*detached), expected.detach())
    grad = torch.randn(expected.shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    query, key, v = detached
    found = additive.chunked_gradients(grad, query, key, v, (True, True, True))
    torch.testing.assert_close(found, torch.autograd.grad(expected, tensors, grad))


def test_no_chunk_holds_more_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(additive, "_CHUNK", 100)
    for shape in [(3, 4, 5, 7), (1, 1, 1000, 3), (50, 2, 2, 2), (2, 30, 1, 90)]:
        seen = np.zeros(shape[:3], int)
        for chunk in additive._chunks(shape[:3], shape[3]):
            assert seen[chunk].size * shape[3] <= 100
            seen[chunk] += 1
        assert (seen == 1).all()


@pytest.mark.parametrize(
    ("shapes", "text"),
    [
        (((7,), (5, 7), (7,)), r"take query \(\.\.\., q, d\).*not query \(7,\)"),
        (((3, 7), (5, 7), (1, 7)), r"v \(d,\), not .* v \(1, 7\)"),
        (((3, 7), (5, 8), (7,)), r"same last size \(project.*key \(5, 8\)"),
        (((2, 3, 7), (4, 5, 7), (7,)), "leading sizes of query and key must be equal, or 1"),
    ],
)
def test_sizes_that_do_not_fit(shapes: tuple[tuple[int, ...], ...], text: str) -> None:
    with pytest.raises(ShapeError, match=text):
        additive_scores(*(torch.zeros(s) for s in shapes))


def test_whole_numbers_are_refused() -> None:
    whole = torch.zeros(2, 3, dtype=torch.int64)
    with pytest.raises(DtypeError, match=r"not torch.int64; convert them with .float\(\)"):
        additive_scores(whole, whole, whole[0])


def test_arrays_of_numpy_are_sent_on() -> None:
    with pytest.raises(DtypeError, match=r"key must be a torch tensor, not ndarray; .* go to additive_scores_numpy"):
        additive_scores(torch.zeros(2, 3), np.zeros((2, 3)), torch.zeros(3))


def test_one_step_of_a_decoder_takes_plain_torch_and_loads_no_kernel(monkeypatch) -> None:
    query, key, v = inputs(3, 1, 7, 16, dtype=torch.float32)
    expected = by_tanh(query, key, v)
    monkeypatch.setattr("regard.kernels.additive._AdditiveScores.apply", None)
    with torch.no_grad():
        torch.testing.assert_close(additive_scores(query, key, v), expected)
