"""attend, attend_local, the layers and the kernels on odd arrays, against a plain computation in float64."""

from __future__ import annotations

import os
import random
import threading
from pathlib import Path
from typing import Any

import numpy as np
import torch

import regard
from benchmarks.torture.harness import Wrong, dice
from regard import kernels, nn

NAME = "numerics"
WHAT = (
    "attend, attend_local, layers and kernels against float64: dtypes, strides, expanded and zero sizes, NaN and inf "
    "behind masks, vmap, autocast, 8 threads at once, after fork"
)
FULL, SHORT = 10_000, 300
ISOLATED = True  # every batch of cases is a process of its own, after fork
TOLERANCE = {torch.float64: 1e-9, torch.float32: 2e-5, torch.float16: 8e-3, torch.bfloat16: 6e-2}


def prepare(workspace: Path) -> None:  # noqa: ARG001
    for number in range(8):  # compile what is compiled
        strike(None, number)


def strike(context: None, number: int) -> str:  # noqa: ARG001
    draw = dice(NAME, number)
    attack = (_attend, _attend, _local, _additive, _layer, _threads)[number % 6]
    return attack(draw)


def _tensor(draw: random.Random, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Numbers of odd strides: transposed, expanded, sliced, flipped."""
    generator = torch.Generator().manual_seed(draw.getrandbits(40))
    how = draw.randrange(5)
    if how == 1 and len(shape) > 1:
        return torch.randn(*shape[:-2], shape[-1], shape[-2], generator=generator).to(dtype).transpose(-1, -2)
    if how == 2 and len(shape) > 1:
        return torch.randn(1, *shape[1:], generator=generator).to(dtype).expand(*shape)
    if how == 3:
        return torch.randn(*shape[:-1], 2 * shape[-1] + 1, generator=generator).to(dtype)[
            ..., 1 : 2 * shape[-1] + 1 : 2
        ]
    if how == 4:
        return torch.randn(*shape, generator=generator).to(dtype).flip(0)
    return torch.randn(*shape, generator=generator).to(dtype)


def _softmax(values: np.ndarray, visible: np.ndarray) -> np.ndarray:
    """Row by row in float64; what is hidden weighs 0, and a row that may look nowhere too."""
    values = np.where(visible, values, -np.inf)
    top = values.max(-1, keepdims=True, initial=-np.inf)
    powers = np.where(visible, np.exp(values - np.where(np.isfinite(top), top, 0)), 0)
    total = powers.sum(-1, keepdims=True)
    return powers / np.where(total == 0, 1, total)


def _close(found: Any, expected: np.ndarray, dtype: torch.dtype, what: str) -> None:
    values = found.detach().double().numpy() if torch.is_tensor(found) else np.asarray(found, np.float64)
    if values.shape != expected.shape:
        raise Wrong(f"{what}: shape {values.shape}, not {expected.shape}")
    bound = TOLERANCE[dtype] * max(1.0, float(np.abs(expected).max(initial=0)))
    if not (np.abs(values - expected) <= bound).all():
        raise Wrong(f"{what}, {dtype}: {np.abs(values - expected).max()} from float64, more than {bound}")


def _attend(draw: random.Random) -> str:
    dtype = draw.choice(list(TOLERANCE))
    sizes = [draw.choice((0, 1, 1, 2, 3, 5, 7)) for _ in range(draw.randint(0, 2))]
    q, k, d, v = (
        draw.choice((1, 2, 5)),
        draw.choice((1, 2, 3, 7, 33)),
        draw.choice((1, 3, 4, 16)),
        draw.choice((1, 2, 5)),
    )
    query, key, value = (_tensor(draw, *sizes, n, w, dtype=dtype) for n, w in ((q, d), (k, d), (k, v)))
    score = draw.choice(("dot", "scaled_dot", "cosine"))
    visible = torch.rand(*sizes, q, k, generator=torch.Generator().manual_seed(draw.getrandbits(40))) < draw.choice(
        (0.3, 0.9, 1.1)
    )
    hidden = not visible.numpy().any(tuple(range(visible.ndim - 1))).all()
    if hidden and draw.random() < 0.5:  # what nobody may look at may be anything
        nobody = ~visible.any(-2)
        key, value = key.clone(), value.clone()
        value[nobody] = draw.choice((float("nan"), float("inf")))
    found = regard.attend(query, key, value, score=score, visible=visible)
    one, two, three = (t.double().numpy() for t in (query, key, value))
    raw = one @ np.swapaxes(two, -1, -2)
    if score == "scaled_dot":
        raw = raw / np.sqrt(d)
    elif score == "cosine":
        raw = raw / np.maximum(
            np.linalg.norm(one, axis=-1)[..., :, None] * np.linalg.norm(two, axis=-1)[..., None, :], 1e-30
        )
    weights = _softmax(raw, visible.numpy())
    context = weights @ np.nan_to_num(three, nan=0, posinf=0, neginf=0)
    _close(found.weights, weights, dtype, f"attend {score} weights {tuple(query.shape)} {tuple(key.shape)}")
    _close(found.context, context, dtype, f"attend {score} context {tuple(query.shape)} {tuple(key.shape)}")
    if sizes and all(sizes) and draw.random() < 0.2:
        mapped = torch.vmap(lambda *one: regard.attend(*one[:3], score=score, visible=one[3]).scores)(
            query, key, value, visible
        )
        _close(torch.where(visible, mapped, 0), np.where(visible.numpy(), raw, 0), dtype, f"attend {score} under vmap")
    return "attend"


def _local(draw: random.Random) -> str:
    dtype = draw.choice((torch.float64, torch.float32))
    b, n, d, width = (
        draw.randint(1, 3),
        draw.choice((1, 2, 5, 17, 40)),
        draw.choice((1, 4, 8)),
        draw.choice((1, 2, 5, 50)),
    )
    causal = draw.random() < 0.5
    query, key, value = (_tensor(draw, b, n, d, dtype=dtype) for _ in range(3))
    found = regard.attend_local(query, key, value, width=width, causal=causal, score="scaled_dot")
    distance = np.arange(n)[None, :] - np.arange(n)[:, None]
    visible = (np.abs(distance) <= width) & ((distance <= 0) | (not causal))
    one, two, three = (t.double().numpy() for t in (query, key, value))
    weights = _softmax(one @ np.swapaxes(two, -1, -2) / np.sqrt(d), np.broadcast_to(visible, (b, n, n)))
    _close(found.context, weights @ three, dtype, f"attend_local width {width} causal {causal} {tuple(query.shape)}")
    return "attend_local"


def _additive(draw: random.Random) -> str:
    dtype = draw.choice((torch.float64, torch.float32))
    b, n, m, d = (
        draw.choice((0, 1, 3)),
        draw.choice((0, 1, 2, 9)),
        draw.choice((0, 1, 4, 31)),
        draw.choice((1, 5, 16, 33)),
    )
    query, key, v = (
        _tensor(draw, b, n, d, dtype=dtype),
        _tensor(draw, b, m, d, dtype=dtype),
        _tensor(draw, d, dtype=dtype),
    )
    found = kernels.additive_scores(query, key, v)
    one, two, three = (t.double().numpy() for t in (query, key, v))
    expected = np.tanh(one[:, :, None] + two[:, None]) @ three
    _close(found, expected, dtype, f"additive_scores {tuple(query.shape)} {tuple(key.shape)}")
    return "additive_scores"


def _layer(draw: random.Random) -> str:
    torch.manual_seed(draw.getrandbits(40))
    dim, heads = draw.choice((4, 8, 12)), draw.choice((1, 2, 4))
    b, n = draw.choice((1, 3)), draw.choice((1, 2, 9))
    layer = nn.MultiHeadAttention(dim, heads).eval()
    inputs = _tensor(draw, b, n, dim)
    autocast = draw.random() < 0.3
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        found = layer(inputs)
    with torch.no_grad():
        expected = layer.double()(inputs.double())
    dtype = torch.bfloat16 if autocast else torch.float32
    _close(found.context, expected.context.numpy(), dtype, f"MultiHeadAttention({dim}, {heads}), autocast {autocast}")
    _close(
        found.weights,
        expected.weights.numpy(),
        dtype,
        f"MultiHeadAttention({dim}, {heads}) weights, autocast {autocast}",
    )
    return "layers"


def _threads(draw: random.Random) -> str:
    """The same in 8 threads at once as in one."""
    query, key, v = _tensor(draw, 2, 5, 16), _tensor(draw, 2, 7, 16), _tensor(draw, 16)
    alone = kernels.additive_scores(query, key, v)
    found: list[Any] = [None] * 8

    def work(place: int) -> None:
        found[place] = kernels.additive_scores(query, key, v), regard.attend(query, key).context

    threads = [threading.Thread(target=work, args=(place,)) for place in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if not all(torch.equal(one[0], alone) and torch.equal(one[1], found[0][1]) for one in found):
        raise Wrong(f"8 threads at once gave other numbers than one, in process {os.getpid()}")
    return "8 threads"
