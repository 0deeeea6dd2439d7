"""Who runs a compiled kernel and when: the thresholds, the tensors that are taken, the paths that can be forced."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest
import torch

from regard import attend, scores
from regard.errors import UnknownName
from regard.kernels import additive, additive_numpy, additive_scores, additive_scores_numpy, dispatch
from regard.kernels.simd import BYTES


def meta(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """A tensor of that shape that holds nothing."""
    return torch.empty(shape, dtype=dtype, device="meta")


@pytest.mark.parametrize(
    ("few", "at_threshold"),
    [
        (dispatch.few_array_pairs, (np.empty((64, 16)), np.empty((64, 16)))),
        (dispatch.few_pairs, (meta(128, 32), meta(64, 32))),
        (dispatch.few_pairs_of_a_step, (meta(128, 1, 32), meta(128, 64, 32), meta(32))),
        (dispatch.few_weights, (meta(2**10, 64), meta(2**10, 64))),
        (dispatch.few_logits, (meta(8, 8, 2**13),)),
        (dispatch.few_gates_of_a_step, (meta(2**6, 2**10),)),
        (dispatch.few_gates_over_time, (meta(2**5, 2**4, 2**10),)),
    ],
)
def test_a_threshold_is_the_first_size_that_is_worth_a_kernel(few, at_threshold) -> None:
    below = [at_threshold[0][:-1], *at_threshold[1:]]
    if few is dispatch.few_pairs_of_a_step:
        below[1] = below[1][:-1]
    with torch.no_grad():
        assert few(*below)
        assert not few(*at_threshold)
        with dispatch.forced("compiled"):
            assert not few(*below)
        with dispatch.forced("plain"):
            assert few(*at_threshold)


def test_gradients_decide_before_sizes_do() -> None:
    assert torch.is_grad_enabled()
    assert not dispatch.few_pairs(meta(1, 8), meta(1, 8))
    assert not dispatch.few_pairs_of_a_step(meta(1, 1, 8).requires_grad_(), meta(1, 2, 8), meta(8))
    assert dispatch.few_gates_of_a_step(meta(2**20))  # a lone step leaves its gradient to autograd
    assert not dispatch.few_gates_over_time(meta(1, 1, 8))


def test_numbers_that_would_be_promoted_are_never_few() -> None:
    half = torch.bfloat16
    with torch.no_grad():
        assert not dispatch.few_pairs(meta(1, 8), meta(1, 8, dtype=half))
        assert not dispatch.few_pairs(meta(1, 8, dtype=half), meta(1, 8, dtype=half))
        assert not dispatch.few_pairs_of_a_step(meta(1, 1, 8), meta(1, 2, 8), meta(8, dtype=half))


def test_tensors_that_the_kernels_take() -> None:
    width = BYTES // 4
    assert dispatch.takes(torch.empty(3), width, 2 * width)
    assert dispatch.takes(torch.empty(3, dtype=torch.float64), BYTES // 8)
    assert not dispatch.takes(torch.empty(3), width, width + 1)
    assert not dispatch.takes(torch.empty(3, dtype=torch.bfloat16), width)
    assert not dispatch.takes(meta(3), width)
    with dispatch.forced("plain"):
        assert not dispatch.takes(torch.empty(3), width)
        assert not dispatch.runs_on(torch.device("cpu"))
    with dispatch.forced("compiled"):
        assert not dispatch.takes(torch.empty(3), width + 1)  # what cannot be is not forced


def test_a_forced_path_ends_with_its_block_and_inner_blocks_win() -> None:
    x = torch.empty(3)
    with dispatch.forced("plain"):
        with dispatch.forced("compiled"):
            assert dispatch.takes(x)
        assert not dispatch.takes(x)
    assert dispatch.takes(x)
    with pytest.raises(ZeroDivisionError), dispatch.forced("plain"):
        raise ZeroDivisionError
    assert dispatch.takes(x)


def test_other_threads_keep_their_own_path() -> None:
    found = []
    with dispatch.forced("plain"):
        thread = threading.Thread(target=lambda: found.append(dispatch.compiles()))
        thread.start()
        thread.join()
        assert not dispatch.compiles()
    assert found == [True]


def test_an_unknown_path_is_named_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match=r"no path is called 'compile'.* Did you mean 'compiled'\?"):
        dispatch.forced("compile").__enter__()


@pytest.mark.parametrize("library", [np.asarray, torch.from_numpy])
def test_additive_attention_takes_the_path_that_is_forced_and_gives_the_same(library, monkeypatch) -> None:
    rng = np.random.default_rng(0)
    query, key, v = (library(rng.standard_normal(shape)) for shape in ((3, 8), (5, 8), (8,)))
    called = []
    for module, name in ((additive, "_scores"), (additive_numpy, "_compiled")):
        whole = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *given, whole=whole: called.append(1) or whole(*given))
    score = scores.SumOfTanh(v)
    with torch.no_grad():
        with dispatch.forced("plain"):
            plain = attend(query, key, score=score)
        assert not called
        with dispatch.forced("compiled"):
            compiled = attend(query, key, score=score)
    assert called
    np.testing.assert_allclose(compiled.scores, plain.scores, rtol=1e-12, atol=1e-13)


def test_the_kernels_entrances_have_a_plain_path_too(monkeypatch) -> None:
    rng = np.random.default_rng(1)
    query, key, v = (rng.standard_normal(shape) for shape in ((2, 3, 8), (2, 5, 8), (8,)))
    tensors = [torch.from_numpy(x).requires_grad_() for x in (query, key, v)]
    results = {}
    for path in ("compiled", "plain"):
        with dispatch.forced(path):
            found = additive_scores(*tensors)
            results[path] = [found, *torch.autograd.grad(found.square().sum(), tensors)]
            np.testing.assert_allclose(additive_scores_numpy(query, key, v), found.detach(), rtol=1e-11)
        monkeypatch.setattr("regard.kernels.additive_cpu.scores", None)  # for the second round
        monkeypatch.setattr("regard.kernels.additive_cpu.gradients", None)
    torch.testing.assert_close(results["compiled"], results["plain"])


def test_asking_loads_neither_torch_nor_numba() -> None:
    code = (
        "import sys, numpy, regard; from regard.kernels import dispatch; x = numpy.ones((3, 4)); "
        "regard.attend(x, x, score=regard.scores.SumOfTanh(numpy.ones(4))); "
        "assert not {'torch', 'numba'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("gone", ["llvmlite.ir", "numba.extending"])
def test_without_what_the_kernels_are_made_of_all_is_computed_plainly_and_said_once(gone: str) -> None:
    """What breaks when Numba's extension API or llvmlite's IR builder moves: speed, and nothing else."""
    code = f"""
import sys, warnings
import numpy, torch
sys.modules[{gone!r}] = None
from regard.kernels import additive_scores, additive_scores_numpy, dispatch
from regard.nn.cells import GRU
from regard.nn.output import cross_entropy
x = torch.ones(1, 40, 64, requires_grad=True)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    additive_scores(x, x, x[0, 0].detach()).sum().backward()
    scores = additive_scores_numpy(*[x.detach().numpy()[0]] * 2, numpy.ones(64))
    cell = GRU(64)
    states = cell(torch.ones(3, 2, 3 * 64), (torch.zeros(2, 64),))
    loss, _ = cross_entropy(x[0], torch.ones(32, 64), torch.zeros(32), torch.zeros(40, dtype=torch.int64))
assert torch.isfinite(x.grad).all() and numpy.allclose(scores, 64 * numpy.tanh(2)) and torch.isfinite(states).all()
assert abs(loss.item() - 40 * numpy.log(32)) < 1e-3
ours = [str(w.message) for w in caught if "kernels cannot be compiled" in str(w.message)]
assert len(ours) == 1, ours
assert "brings a Numba that fits" in ours[0]
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)
