"""This package's own layers: heads that are asked past ``forward``, and looks by a fused kernel."""

from __future__ import annotations

import weakref
from contextlib import ExitStack
from typing import Any

from torch import Tensor

from regard.attention import Attended
from regard.inspection.fast_path import replace as stand_in
from regard.inspection.watching import inside, listeners_of, tell_weights
from regard.nn.additive_attention import FusedAdditiveAttention
from regard.nn.multi_head import MultiHeadAttention


def install(stack: ExitStack) -> None:
    """Hear of them until ``stack`` is closed."""
    attend_heads, begin, look = (
        MultiHeadAttention.attend_heads,
        FusedAdditiveAttention.__init__,
        FusedAdditiveAttention.__call__,
    )
    of_looks: weakref.WeakKeyDictionary[FusedAdditiveAttention, Any] = weakref.WeakKeyDictionary()

    def named(self: MultiHeadAttention, *args: Any, **kwargs: Any) -> Attended:
        if not listeners_of(self):
            return attend_heads(self, *args, **kwargs)
        with inside(self):
            return attend_heads(self, *args, **kwargs)

    def begun(self: FusedAdditiveAttention, attention: Any, *args: Any, **kwargs: Any) -> None:
        of_looks[self] = attention
        begin(self, attention, *args, **kwargs)

    def looked(self: FusedAdditiveAttention, query: Tensor) -> Attended:
        attended = look(self, query)
        module = of_looks.get(self)
        if module is not None and listeners_of(module):
            tell_weights(module, attended.weights[:, None])
        return attended

    stand_in(stack, MultiHeadAttention, "attend_heads", named)
    stand_in(stack, FusedAdditiveAttention, "__init__", begun)
    stand_in(stack, FusedAdditiveAttention, "__call__", looked)
