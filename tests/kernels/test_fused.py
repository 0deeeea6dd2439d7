"""Context by torch's fused kernel, with regard's meaning of masks; and inputs that must not change meanwhile."""

from __future__ import annotations

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from regard import attend, attend_local
from regard.errors import InputError
from regard.kernels.fused import fused_context, masks_by_adding, unchanged


def draw(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def naive(query, key, value, scale, visible, bias):
    scores = scale * query @ key.mT + (0 if bias is None else bias)
    if visible is not None:
        scores = scores.masked_fill(~visible, -torch.inf)
    return torch.softmax(scores, -1).nan_to_num(0.0) @ value


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("batch", [(), (2,), (2, 3), (2, 3, 2)])
def test_it_is_the_softmax_written_out(batch: tuple[int, ...], masked: bool, biased: bool) -> None:
    query, key, value = draw(*batch, 4, 6), draw(*batch, 5, 6, seed=1), draw(*batch, 5, 7, seed=2)
    visible = torch.ones(4, 5, dtype=torch.bool).tril() if masked else None
    if visible is not None:
        visible[2] = False  # a query that may look nowhere
    bias = draw(4, 5, seed=3) if biased else None
    found = fused_context(query, key, value, 0.3, visible, bias)
    torch.testing.assert_close(found, naive(query, key, value, 0.3, visible, bias))
    assert masked == (not found[..., 2, :].any())


def test_leading_sizes_broadcast() -> None:
    query, key, value = draw(2, 1, 4, 6), draw(3, 5, 6, seed=1), draw(5, 7, seed=2)
    expected = naive(query, key, value.expand(3, 5, 7), 1.0, None, None)
    torch.testing.assert_close(fused_context(query, key, value, 1.0, None, None), expected)


def test_half_precision_is_computed_in_float32() -> None:
    query, key, value = (draw(2, 4, 6, seed=seed, dtype=torch.bfloat16) for seed in range(3))
    found = fused_context(query, key, value, 0.4, None, None)
    expected = fused_context(query.float(), key.float(), value.float(), 0.4, None, None)
    assert torch.equal(found, expected.bfloat16())


def test_a_change_in_place_is_refused_by_name() -> None:
    query, key = torch.ones(2), torch.ones(3)
    check = unchanged(query=query, key=key, bias=None)
    check()
    key.add_(1)
    with pytest.raises(InputError, match=r"key was changed in place after attend\(\)"):
        check()


def test_tensors_of_inference_mode_are_not_followed() -> None:
    with torch.inference_mode():
        query = torch.ones(2)
        check = unchanged(query=query)
        query.add_(1)
    check()


class Calls(TorchDispatchMode):
    """Counts how often the host waits for a number of the device, and how often a tensor is read to make one number."""

    def __init__(self):
        super().__init__()
        self.waits = self.scans = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        self.waits += func.overloadpacket.__name__ in ("_local_scalar_dense", "is_nonzero", "item", "equal")
        read = any(isinstance(given, torch.Tensor) and given.ndim for given in args)
        self.scans += read and isinstance(result, torch.Tensor) and result.ndim == 0
        return result


def inputs(**options):
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(2, n, 3, generator=generator, **options) for n in (5, 7, 7)]


MASK = torch.ones(5, 7, dtype=torch.bool).tril(1)


@pytest.mark.parametrize("score", ["dot", "scaled_dot"])
def test_a_mask_costs_one_scan_of_each_input_and_one_wait(score):
    query, key, value = inputs()
    with Calls() as calls:
        attended = attend(query, key, value, score=score, visible=MASK)
        assert (calls.scans, calls.waits) == (3, 1)
        _ = attended.weights, attended.scores
    assert (calls.scans, calls.waits) == (3, 1)  # what was found out is not asked again


def test_values_that_are_the_keys_are_not_scanned_twice():
    query, key, _ = inputs()
    with Calls() as calls:
        attend(query, key, visible=MASK)
    assert (calls.scans, calls.waits) == (2, 1)


def test_no_mask_costs_no_wait_and_other_normalizers_one():
    query, key, value = inputs()
    with Calls() as calls:
        attend(query, key, value)
    assert (calls.scans, calls.waits) == (0, 0)
    with Calls() as calls:
        _ = attend(query, key, value, normalize="sparsemax", visible=MASK).weights
    assert calls.waits == 1


@pytest.mark.parametrize("score", ["dot", "scaled_dot"])
def test_a_window_costs_one_wait(score):
    query, key, value = inputs()
    with Calls() as calls:
        attend_local(query, key, value, width=2, score=score)
    assert calls.waits == 1


@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("which", ["key", "value"])
def test_what_is_no_number_cannot_be_masked_by_adding(which, bad):
    query, key, value = inputs()
    assert masks_by_adding(query, key, value)
    assert masks_by_adding(query, key, key)
    {"key": key, "value": value}[which][1, 6, 2] = bad
    assert not masks_by_adding(query, key, value)
    assert masks_by_adding(query, key, key) == (which == "value")


@pytest.mark.parametrize(("dtype", "large"), [("float32", 1e18), ("float64", 1e150), ("bfloat16", 1e18)])
def test_products_that_could_overflow_cannot_be_masked_by_adding(dtype, large):
    query, key, value = inputs(dtype=getattr(torch, dtype))
    key[0, 6, 0] = large
    assert masks_by_adding(query, key, value)
    query[0, 0, 0] = large**1.5
    assert not masks_by_adding(query, key, value)
