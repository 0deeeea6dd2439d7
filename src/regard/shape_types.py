"""Array types that say their shape, such as ``Float[Array, "*b q d"]``: jaxtyping's.

Letters: ``b`` batch, ``h`` heads, ``q`` queries, ``k`` keys, ``d`` width of query and key, ``v`` width of value;
``t`` time, ``n`` rows of any kind, ``w`` hypotheses of a search or keys of a window. ``*b`` stands for any number of
dimensions, ``#q`` may also be 1, ``{queries}`` is the argument of that name.

Type checkers read these types, and the tests check them at every call (tests/shapes.py). Nothing else needs them:
annotations are not evaluated, so the package neither requires jaxtyping nor spends the time to import it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or "jaxtyping" in sys.modules:
    from jaxtyping import Bool, Float, Int, Shaped
else:

    class _AnyShape:
        """Stands for a type of jaxtyping where nobody checks shapes."""

        def __class_getitem__(cls, _: Any) -> Any:
            return Any

    Bool = Float = Int = Shaped = _AnyShape

__all__ = ["Bool", "Float", "Int", "Shaped"]
