"""The one place that decides whether a compiled kernel or its plain twin runs.

Everything with two paths asks here two things, in this order: is there so little to compute that loading a kernel
would not pay (``few_...``), and can the kernels compute on these tensors at all (``takes``, ``runs_on``)?
Both paths compute the same function; ``forced`` takes one of them whatever the size, for tests and comparisons.

Importing this loads neither torch nor Numba: ``regard.scores`` asks it for every array library.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from regard.errors import choose

if TYPE_CHECKING:
    import torch
    from torch import Tensor

# Loading Numba and a kernel from disk takes up to a second, once a process. Calls above a threshold come in numbers
# that earn that back; below it, somebody asks for a single sentence and should not wait.
ADDITIVE_PAIRS_NUMPY = 2**16
"""Queries x keys x width: up to here NumPy computes tanh of all pairs in tenths of a millisecond, in half a MB."""
ADDITIVE_PAIRS_TORCH = 2**18
"""The same for torch: above it are the steps of a batch, below it those of one sentence or of one photograph of 14 x 14
cells, five hypotheses each."""
LOGITS = 2**19
"""Logits of one search step: 16 sentences x beam 5 x 8000 words are above it, one sentence is below."""
GATES_OVER_TIME = 2**19
"""Input products of a whole recurrent layer, without gradient: an encoder of one sentence is below it."""
GATES_OF_A_STEP = 2**16
"""Input products of one step: a gate takes about eight times as long as a logit of ``LOGITS``."""
MAP_WEIGHTS = 2**20
"""Weights of a map that is reduced to its sums: up to here torch takes a few milliseconds."""

Path = Literal["plain", "compiled"]
_PATHS: dict[str, Path] = {"plain": "plain", "compiled": "compiled"}
_forced: ContextVar[Path | None] = ContextVar("regard_forced_path", default=None)


@contextmanager
def forced(path: Path) -> Iterator[None]:
    """Take this path inside the block, in this thread or task only.

    ``"plain"``: no compiled kernel runs. ``"compiled"``: no size is too small for one; tensors that the kernels do
    not take (of another device, dtype or width) still go the plain way.
    """
    token = _forced.set(choose("path", path, _PATHS))
    try:
        yield
    finally:
        _forced.reset(token)


def few_array_pairs(query: Any, key: Any) -> bool:
    """Of NumPy arrays (..., q, d) and (..., k, d)."""
    return _few(query.shape[-2] * key.size, ADDITIVE_PAIRS_NUMPY)


def few_pairs(query: Tensor, key: Tensor) -> bool:
    """Whether tanh(query + key) of all pairs may be held at once: few of them, no gradient, nothing to promote."""
    import torch

    plain = query.dtype == key.dtype and query.dtype in (torch.float32, torch.float64)
    return plain and not torch.is_grad_enabled() and _few(query.shape[-2] * key.numel(), ADDITIVE_PAIRS_TORCH)


def few_pairs_of_a_step(query: Tensor, key: Tensor, v: Tensor) -> bool:
    """The same for one query a sentence, as a decoder's step has; never under ``torch.compile``, which fixes a path."""
    import torch

    if torch.compiler.is_compiling() or query.shape[-2] != 1:
        return False
    plain = query.dtype == key.dtype == v.dtype and v.dtype in (torch.float32, torch.float64)
    learning = torch.is_grad_enabled() and (query.requires_grad or key.requires_grad or v.requires_grad)
    pairs = max(query.numel() * key.shape[-2], key.numel())
    return plain and not learning and _few(pairs, ADDITIVE_PAIRS_TORCH)


def few_logits(logits: Tensor) -> bool:
    """Of all hypotheses at one step of a search."""
    return _few(logits.numel(), LOGITS)


def few_gates_of_a_step(product: Tensor) -> bool:
    """Or a gradient is wanted: a lone step leaves that to autograd, and loops have ``Cell.series``."""
    import torch

    return torch.is_grad_enabled() or _few(product.numel(), GATES_OF_A_STEP)


def few_gates_over_time(products: Tensor) -> bool:
    """Never where gradients are made: a training computes many batches."""
    import torch

    return not torch.is_grad_enabled() and _few(products.numel(), GATES_OVER_TIME)


def few_weights(query: Tensor, key: Tensor) -> bool:
    """Of the map of one head, query (q, d) and key (k, d)."""
    return _few(query.shape[0] * key.shape[0], MAP_WEIGHTS)


def _few(count: int, threshold: int) -> bool:
    path = _forced.get()
    return count < threshold if path is None else path == "plain"


def takes(tensor: Tensor, *widths: int) -> bool:
    """Whether the kernels compute on tensors like this one, with rows of these widths."""
    import torch

    if tensor.dtype not in (torch.float32, torch.float64) or not runs_on(tensor.device):
        return False
    from regard.kernels.simd import BYTES

    return all(width * tensor.itemsize % BYTES == 0 for width in widths)


def runs_on(device: torch.device) -> bool:
    """Whether the kernels compute on this device; those that widen half precision themselves ask only this."""
    return device.type == "cpu" and compiles()


def compiles() -> bool:
    """Whether kernels may run and can be compiled here."""
    return _forced.get() != "plain" and _loads()


@cache
def _loads() -> bool:
    """Whether this Numba and llvmlite still have what the kernels are made of; where not, that is said once."""
    try:
        from regard.kernels import simd  # noqa: F401
    except (ImportError, AttributeError, TypeError) as error:
        warnings.warn(
            f"regard's kernels cannot be compiled with the installed Numba ({error}): results are the same, computed "
            "without them and slower. `pip install --upgrade regard` brings a Numba that fits.",
            RuntimeWarning,
            stacklevel=2,
        )
        return False
    return True


def defers_gradients() -> bool:
    """Whether a loop's weights can get their gradient once, after its steps (``regard.nn.loop_gradients``).

    That needs a number of the running backward pass, which torch has no public name for. Without it the steps take
    ordinary layers, whose gradients autograd adds up: same results, slower.
    """
    import torch

    return hasattr(torch._C, "_current_graph_task_id")
