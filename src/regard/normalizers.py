"""From scores to weights: each normalizer turns a row of scores into a distribution.

    softmax     every visible key gets a share
    sparsemax   the nearest point of the simplex: far keys get exactly 0      Martins and Astudillo 2016
    hard        all on the best key; ties go to the first
    sampled     all on one key, drawn by its softmax share                    Xu et al. 2015, section 4.1

A score of -inf marks a hidden key, which weighs exactly 0; a row with nothing to look at is all zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from regard.arrays import Array, Namespace, array_namespace, boolean, cast, is_torch_array, numbers, widened
from regard.errors import InputError, ShapeError, choose
from regard.shape_types import Float, Int, Shaped

Normalizer: TypeAlias = Callable[[Array], Array]


def softmax(scores: Any, *, axis: int | None = -1, visible: Any = None) -> Float[Array, "..."]:
    """The share of each score's exponential, never overflowing; over all entries at once when ``axis`` is None.

    >>> softmax([1, 2, 3])
    array([0.09003057, 0.24472847, 0.66524096])
    >>> softmax([1, 2, 3], visible=[True, True, False])
    array([0.26894142, 0.73105858, 0.        ])
    >>> softmax([[1000, 1000], [1000, 1000]], axis=None)
    array([[0.25, 0.25],
           [0.25, 0.25]])
    """
    xp, dtype, given = _scores(scores, axis)
    return cast(xp, _softmax(hide(given, visible), axis), dtype)


def sparsemax(scores: Any, *, visible: Any = None) -> Float[Array, "..."]:
    """The Euclidean projection of each row onto the simplex (algorithm 1 of the paper).

    >>> sparsemax([1.0, 0.8, 0.1])
    array([0.6, 0.4, 0. ])
    """
    xp, dtype, given = _scores(scores)
    return cast(xp, _sparsemax(hide(given, visible)), dtype)


def hard(scores: Any, *, visible: Any = None) -> Float[Array, "..."]:
    """One on the best key of each row, the first of equals; zero elsewhere.

    >>> hard([3, 7, 7])
    array([0., 1., 0.])
    """
    xp, dtype, given = _scores(scores)
    return cast(xp, _hard(hide(given, visible)), dtype)


class Sampled:
    """One key for each row, drawn by its softmax share from ``generator``.

    The generator is NumPy's for NumPy arrays, torch's for tensors, and a key of ``jax.random`` for JAX
    (which gives the same draw each time it is used, as keys do).

    >>> Sampled(np.random.default_rng(0))([[0.0, 50.0], [50.0, 0.0]])
    array([[0., 1.],
           [1., 0.]])
    """

    def __init__(self, generator: Any) -> None:
        self.generator = generator

    def __call__(self, scores: Any) -> Float[Array, "..."]:
        xp, dtype, given = _scores(scores)
        shares = _softmax(given, -1)
        reached = xp.cumulative_sum(shares, axis=-1)
        total = reached[..., -1:]
        point = _uniform(self.generator, total) * total
        chosen = (reached > point) | (reached >= total)  # a point rounded up to the total is in the last share
        drawn = _one_hot(xp, xp.argmax(cast(xp, chosen, xp.int8), axis=-1), shares)
        return cast(xp, xp.where(total > 0, drawn, xp.zeros_like(drawn)), dtype)


def hide(scores: Float[Array, "*shape"], visible: Any) -> Float[Array, "*shape"]:
    """The scores with -inf where ``visible`` is False; the scores themselves when it is None."""
    if visible is None:
        return scores
    xp = array_namespace(scores)
    mask = boolean(visible, "visible", scores)
    try:
        mask = xp.broadcast_to(mask, scores.shape)
    except (ValueError, RuntimeError):
        raise ShapeError(
            f"visible {tuple(mask.shape)} does not broadcast to the scores {tuple(scores.shape)}: "
            "its last dimension is the keys, the one before it the queries; each must be equal or 1"
        ) from None
    return xp.where(mask, scores, xp.full_like(scores, -xp.inf))


def weights_by(normalize: Normalizer, scores: Float[Array, "*shape"]) -> Shaped[Array, "*shape"]:
    """The weights that ``normalize`` makes of the scores, checked to be one for each."""
    weights = normalize(scores)
    if tuple(getattr(weights, "shape", ())) != tuple(scores.shape):
        came = f"shape {tuple(weights.shape)}" if hasattr(weights, "shape") else type(weights).__name__
        raise ShapeError(f"a normalizer gives one weight for each score, {tuple(scores.shape)}; this one gave {came}")
    return weights


def normalizer_of(normalize: str | Normalizer) -> Normalizer:
    """The normalizer meant by a name or by the callable itself."""
    if not isinstance(normalize, str):
        if not callable(normalize):
            raise InputError(
                f"normalize must be a name or a callable scores -> weights; it is {type(normalize).__name__}"
            )
        return normalize
    if normalize == "sampled":
        raise InputError(
            "sampled weights need a generator to draw from: "
            "pass normalize=normalizers.Sampled(numpy.random.default_rng(0)), or torch's generator for tensors"
        )
    return choose("normalizer", normalize, NORMALIZERS)


def _softmax(scores: Float[Array, "*shape"], axis: int | None = -1) -> Float[Array, "*shape"]:
    xp = array_namespace(scores)
    shares = xp.exp(scores - _finite_peak(xp, scores, axis))
    total = xp.sum(shares, axis=axis, keepdims=True)
    return shares / xp.where(total == 0, xp.ones_like(total), total)


def _sparsemax(scores: Float[Array, "*b k"]) -> Float[Array, "*b k"]:
    xp = array_namespace(scores)
    z = scores - _finite_peak(xp, scores, -1)
    ordered = xp.sort(z, axis=-1, descending=True)
    rank = cast(xp, xp.arange(1, z.shape[-1] + 1, device=_device(z)), z.dtype)
    visible_only = xp.where(xp.isfinite(ordered), ordered, xp.zeros_like(ordered))
    cumulated = xp.cumulative_sum(visible_only, axis=-1)
    supported = cast(xp, (1 + rank * ordered) > cumulated, z.dtype)
    size = xp.sum(supported, axis=-1, keepdims=True)
    threshold = (xp.sum(supported * visible_only, axis=-1, keepdims=True) - 1) / xp.where(size == 0, size + 1, size)
    above = z - threshold
    weights = xp.where(above > 0, above, xp.zeros_like(above))
    unknown = xp.isnan(xp.max(z, axis=-1, keepdims=True))  # a NaN, or an inf less an inf, among the scores
    return xp.where(unknown, xp.full_like(weights, xp.nan), weights)


def _hard(scores: Float[Array, "*b k"]) -> Float[Array, "*b k"]:
    xp = array_namespace(scores)
    chosen = _one_hot(xp, xp.argmax(scores, axis=-1), scores)
    peak = xp.max(scores, axis=-1, keepdims=True)
    weights = xp.where(peak > -xp.inf, chosen, xp.zeros_like(chosen))
    return xp.where(xp.isnan(peak), xp.full_like(weights, xp.nan), weights)


NORMALIZERS: dict[str, Normalizer] = {"softmax": _softmax, "sparsemax": _sparsemax, "hard": _hard}


def _finite_peak(xp: Namespace, scores: Array, axis: int | None) -> Array:
    """The largest score, 0 where everything is hidden; subtracting it keeps the exponentials in range."""
    peak = xp.max(scores, axis=axis, keepdims=True)
    return xp.where(peak == -xp.inf, xp.zeros_like(peak), peak)


def _one_hot(xp: Namespace, index: Int[Array, "*b"], like: Float[Array, "*b k"]) -> Float[Array, "*b k"]:
    places = xp.arange(like.shape[-1], device=_device(like))
    return cast(xp, places == cast(xp, index, places.dtype)[..., None], like.dtype)


def _uniform(generator: Any, like: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Numbers in [0, 1) from whichever kind of generator fits ``like``."""
    xp = array_namespace(like)
    kind = f"{type(generator).__module__.partition('.')[0]}.{type(generator).__name__}"
    if kind == "numpy.Generator" and not is_torch_array(like):
        return xp.asarray(generator.random(like.shape), dtype=like.dtype)
    if kind == "torch.Generator" and is_torch_array(like):
        import torch

        return torch.rand(like.shape, generator=generator, dtype=like.dtype, device=like.device)
    if type(like).__module__.startswith("jax"):
        import jax

        return jax.random.uniform(generator, like.shape, dtype=like.dtype)
    raise InputError(
        f"a generator of {kind} cannot draw for {type(like).__module__.partition('.')[0]} arrays: use "
        "numpy.random.Generator for NumPy, torch.Generator for torch, or a jax.random key for JAX"
    )


def _device(array: Array) -> Any:
    from array_api_compat import device

    return device(array)


def _scores(given: Any, axis: int | None = -1) -> tuple[Namespace, Any, Array]:
    """Namespace, dtype to give back, and the scores to compute with: there must be some along ``axis``."""
    xp, dtype, arrays = numbers(scores=given)
    scores = widened(arrays["scores"])
    if axis is not None and (isinstance(axis, bool) or not isinstance(axis, int)):
        raise InputError(f"axis must be a whole number, or None for all entries at once; it is {axis!r}")
    if axis is not None and not -scores.ndim <= axis < scores.ndim:
        raise ShapeError(f"scores {tuple(scores.shape)} have no axis {axis}; there are {scores.ndim}")
    if 0 in (scores.shape if axis is None else (scores.shape[axis],)):
        raise ShapeError(f"there is nothing to weigh: scores {tuple(scores.shape)} hold no numbers along the axis")
    return xp, dtype, scores
