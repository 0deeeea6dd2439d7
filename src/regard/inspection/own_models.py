"""This package's own layers: heads that are called past ``forward``, and fused additive attention."""

from __future__ import annotations

import weakref
from contextlib import ExitStack
from typing import Any

from torch import Tensor

from regard.attention import Attended
from regard.inspection.fast_path import patch
from regard.inspection.watching import inside, listeners_of, notify_weights
from regard.nn.additive_attention import FusedAdditiveAttention
from regard.nn.multi_head import MultiHeadAttention


def install(stack: ExitStack) -> None:
    """Observe them until ``stack`` is closed."""
    attend_heads, init, call = (
        MultiHeadAttention.attend_heads,
        FusedAdditiveAttention.__init__,
        FusedAdditiveAttention.__call__,
    )
    owners: weakref.WeakKeyDictionary[FusedAdditiveAttention, Any] = weakref.WeakKeyDictionary()

    def observed_heads(self: MultiHeadAttention, *args: Any, **kwargs: Any) -> Attended:
        if not listeners_of(self):
            return attend_heads(self, *args, **kwargs)
        with inside(self):
            return attend_heads(self, *args, **kwargs)

    def observed_init(self: FusedAdditiveAttention, attention: Any, *args: Any, **kwargs: Any) -> None:
        owners[self] = attention
        init(self, attention, *args, **kwargs)

    def observed_call(self: FusedAdditiveAttention, query: Tensor) -> Attended:
        attended = call(self, query)
        module = owners.get(self)
        if module is not None and listeners_of(module):
            notify_weights(module, attended.weights[:, None])
        return attended

    patch(stack, MultiHeadAttention, "attend_heads", observed_heads)
    patch(stack, FusedAdditiveAttention, "__init__", observed_init)
    patch(stack, FusedAdditiveAttention, "__call__", observed_call)
