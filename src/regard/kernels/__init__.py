"""What an array library cannot do fast: additive scores without tanh tensors, windows at linear cost.

Importing this is quick; torch and Numba are loaded, and a kernel is compiled (once a machine, then kept on disk),
when it is first called.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.kernels.additive import additive_scores
    from regard.kernels.additive_numpy import additive_scores_numpy
    from regard.kernels.windows import window_attention, window_weights

_HOME = {
    "additive_scores": "additive",
    "additive_scores_numpy": "additive_numpy",
    "window_attention": "windows",
    "window_weights": "windows",
}

__all__ = ["additive_scores", "additive_scores_numpy", "window_attention", "window_weights"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(f"regard.kernels.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'regard.kernels' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
