"""The NumPy entrance gives what torch gives, without torch."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, cast

import numpy as np
import pytest
import torch

from regard.errors import DtypeError, ShapeError
from regard.kernels import additive_scores, additive_scores_numpy


def by_tanh(query: np.ndarray, key: np.ndarray, v: np.ndarray) -> np.ndarray:
    scores: np.ndarray = np.tanh(query[..., :, None, :] + key[..., None, :, :]) @ v
    return scores


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-13), (np.float32, 1e-5), (np.float16, 1e-2)])
def test_scores_are_those_of_tanh(dtype: type, tolerance: float) -> None:
    rng = np.random.default_rng(0)
    query, key, v = (cast(Any, rng.standard_normal(s).astype(dtype)) for s in ((2, 3, 5, 11), (2, 3, 7, 11), (11,)))
    scores = additive_scores_numpy(query, key, v)
    assert scores.dtype == dtype
    expected = by_tanh(*(x.astype(np.float64) for x in (query, key, v)))
    np.testing.assert_allclose(scores, expected, rtol=tolerance, atol=tolerance)


def test_same_numbers_as_torch() -> None:
    rng = np.random.default_rng(1)
    query, key, v = (rng.standard_normal(s, dtype=np.float32) for s in ((4, 6, 32), (4, 9, 32), (32,)))
    expected = additive_scores(*(torch.from_numpy(x) for x in (query, key, v))).numpy()
    np.testing.assert_array_equal(additive_scores_numpy(query, key, v), expected)


def test_broadcasting_and_large_and_missing_numbers() -> None:
    rng = np.random.default_rng(2)
    query, key, v = (rng.standard_normal(s) for s in ((3, 1, 4, 6), (2, 5, 6), (6,)))
    query[0, 0, 1], key[1, 2], query[2, 0, 3, 0] = 1000, -1000.5, np.nan
    np.testing.assert_allclose(additive_scores_numpy(query, key, v), by_tanh(query, key, v), rtol=1e-12, atol=1e-13)


def test_arrays_that_cannot_be_written_to() -> None:
    rng = np.random.default_rng(3)
    query, key, v = (rng.standard_normal(s) for s in ((4, 6), (5, 6), (6,)))
    for array in (query, key, v):
        array.flags.writeable = False
    np.testing.assert_allclose(additive_scores_numpy(query, key, v), by_tanh(query, key, v))


def test_whole_numbers_and_lists() -> None:
    scores = additive_scores_numpy([[1, 2]], [[0, 0], [1, -2]], [1, 1])
    np.testing.assert_allclose(scores, [[np.tanh(1) + np.tanh(2), np.tanh(2)]])


def test_what_cannot_be_taken() -> None:
    with pytest.raises(ShapeError, match=r"same last size.*query \(1, 2\), key \(1, 3\), v \(2,\)"):
        additive_scores_numpy([[1, 2]], [[1, 2, 3]], [1, 1])
    with pytest.raises(DtypeError, match="need real numbers, not complex128"):
        additive_scores_numpy([[1j]], [[1]], [1])


def test_torch_is_not_imported() -> None:
    code = (
        "import sys; from regard.kernels import additive_scores_numpy as f; "
        "assert 'numba' not in sys.modules; f([[1.0]], [[1.0]], [1.0]); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
