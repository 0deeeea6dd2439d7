"""How the kernels are compiled: when first called, once a machine, and kept on disk where that is possible."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit

_OPTIONS: Any = {"nogil": True, "error_model": "numpy"}
inline: Any = njit(forceinline=True, **_OPTIONS)
"""For what a kernel calls inside its loops."""


def kernel(function: Callable[..., Any]) -> Any:
    """Compile ``function`` with Numba when it is first called; later processes find it on disk."""
    try:
        compiled = njit(cache=True, **_OPTIONS)(function)
        # Numba takes a kernel on disk for good as long as its own file is unchanged; but kernels are made of each
        # other. The stamp has no public name: where it is gone, a kernel that may be stale must not be loaded.
        file = compiled._cache._cache_file
        file._source_stamp = (file._source_stamp, _package())
    except (RuntimeError, AttributeError):  # RuntimeError: neither the package nor the user's cache can be written to
        return njit(**_OPTIONS)(function)
    return compiled


def _package() -> str:
    """A fingerprint of all kernels."""
    sources = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()
