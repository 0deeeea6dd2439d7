"""Which attention is meant: by the number of its layer, or by the name of its module."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from regard.errors import InputError, did_you_mean

Layer = int | str


def layer_number(name: str) -> int | None:
    """The first number in a module's name.

    >>> layer_number("model.layers.3.self_attn"), layer_number("encoder.block.2.layer.0.SelfAttention")
    (3, 2)
    """
    found = re.search(r"(?:^|\.)(\d+)(?:\.|$)", name)
    return int(found.group(1)) if found else None


def is_meant(name: str, layer: Layer) -> bool:
    """Whether ``layer`` means this module: its number, its name, or the name of a module around it."""
    if isinstance(layer, str):
        return name == layer or name.startswith(f"{layer}.") or base_name(name) == layer
    return layer_number(name) == layer


def base_name(name: str) -> str:
    """Without the number of the call: ``attention#2`` is the second call of ``attention`` in one pass."""
    return name.partition("#")[0]


def checked_layers(layers: Layer | Sequence[Layer] | None) -> list[Layer] | None:
    """As a list; None for all."""
    if layers is None:
        return None
    found = [layers] if isinstance(layers, int | str) else list(layers)
    for layer in found:
        if isinstance(layer, bool) or not isinstance(layer, int | str):
            raise InputError(f"a layer is a number or a module's name; {layer!r} came")
    if not found:
        raise InputError("layers is empty; leave it out to record all layers")
    return found


def checked_numbers(what: str, numbers: int | Iterable[int] | None) -> list[int] | None:
    """Heads, queries or keys as a list; None for all."""
    if numbers is None:
        return None
    found = [numbers] if isinstance(numbers, int) else list(numbers)
    for number in found:
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            raise InputError(f"{what} are numbers from 0; {number!r} came")
    if not found:
        raise InputError(f"{what} is empty; leave it out to mean all")
    return found


def no_such_layer(layers: Sequence[Layer], ran: Sequence[str]) -> InputError:
    """The error for layers of which none attended."""
    names = sorted({base_name(name) for name in ran})
    ran_in = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    hint = did_you_mean(layers[0], names) if isinstance(layers[0], str) else ""
    return InputError(
        f"no attention ran in layer {', '.join(map(repr, layers))}; it ran in {ran_in or 'no module'}.{hint}"
    )
