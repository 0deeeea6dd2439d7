"""Additive scores as others write them, each as a function that computes them once, with gradients or without."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

Arrays = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
Shape = tuple[int, int, int, int]
NAMES = ("scores", "query", "key", "v")


def inputs(shape: Shape) -> Arrays:
    """query (B, N, D), key (B, M, D), v (D,) and the gradient of the scores (B, N, M)."""
    b, n, m, d = shape
    rng = np.random.default_rng(0)
    sizes = ((b, n, d), (b, m, d), (d,), (b, n, m))
    query, key, v, grad = (rng.standard_normal(size, dtype=np.float32) for size in sizes)
    return query, key, v, grad


def named(found: Any) -> dict[str, np.ndarray]:
    """What a call returned as arrays by name: scores alone, or scores and their three gradients."""
    parts = found if isinstance(found, tuple) else (found,)
    return {name: np.asarray(part) for name, part in zip(NAMES, parts, strict=False)}


def with_torch(score: Callable[..., Any], arrays: Arrays, backward: bool) -> Callable[[], Any]:
    import torch

    query, key, v, grad = (torch.from_numpy(x) for x in arrays)
    tensors = [x.requires_grad_(backward) for x in (query, key, v)]

    def forward_only() -> Any:
        with torch.no_grad():
            return score(*tensors)

    def both() -> Any:
        scores = score(*tensors)
        return (scores.detach(), *torch.autograd.grad(scores, tensors, grad))

    return both if backward else forward_only


def with_jax(score: Callable[..., Any], arrays: Arrays, backward: bool) -> Callable[[], Any]:
    import jax

    def both(query: Any, key: Any, v: Any, grad: Any) -> Any:
        scores, pull = jax.vjp(score, query, key, v)
        return scores, *pull(grad)

    compiled = jax.jit(both if backward else lambda query, key, v, _: score(query, key, v))
    numbers = [jax.numpy.asarray(x) for x in arrays]
    return lambda: jax.block_until_ready(compiled(*numbers))


def torch_tanh(query: Any, key: Any, v: Any) -> Any:
    import torch

    return torch.tanh(query.unsqueeze(2) + key.unsqueeze(1)) @ v


def jax_tanh(query: Any, key: Any, v: Any) -> Any:
    import jax.numpy as jnp

    return jnp.tanh(query[:, :, None] + key[:, None]) @ v


def keras_on_torch(arrays: Arrays, backward: bool) -> Callable[[], Any]:
    """The layer's scores alone, without the softmax and the context that follow in the layer."""
    os.environ["KERAS_BACKEND"] = "torch"
    import keras
    import torch

    layer = keras.layers.AdditiveAttention()
    layer.build([x.shape for x in (arrays[0], arrays[1], arrays[1])])

    query, key, v, grad = (torch.from_numpy(x) for x in arrays)
    weight = layer.scale._value
    weight.data = v
    tensors = [query.requires_grad_(backward), key.requires_grad_(backward), weight]

    def forward_only() -> Any:
        with torch.no_grad():
            return layer._calculate_scores(query, key)

    def both() -> Any:
        scores = layer._calculate_scores(query, key)
        return (scores.detach(), *torch.autograd.grad(scores, tensors, grad))

    return both if backward else forward_only


def keras_on_jax(arrays: Arrays, backward: bool) -> Callable[[], Any]:
    os.environ["KERAS_BACKEND"] = "jax"
    import keras

    layer = keras.layers.AdditiveAttention()
    layer.build([x.shape for x in (arrays[0], arrays[1], arrays[1])])

    def score(query: Any, key: Any, v: Any) -> Any:
        with keras.StatelessScope(state_mapping=[(layer.scale, v)]):
            return layer._calculate_scores(query, key)

    return with_jax(score, arrays, backward)
