"""regard: attention you can compute, train and see.

Importing it is quick and does not import torch: each name below is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard import errors, kernels, masks, nn, normalizers, positions, scores, show
    from regard.attention import Attended, Step, attend
    from regard.captioning.captioner import Captioner
    from regard.captioning.results import Caption
    from regard.inspection.hide import hide
    from regard.inspection.recorder import record
    from regard.local import attend_local
    from regard.normalizers import softmax
    from regard.text.faithfulness import Faithfulness, faithfulness
    from regard.training import train
    from regard.training.run import RunResult
    from regard.translation.results import Alignment, Translation
    from regard.translation.translator import Translator
    from regard.translation.watched import Watched

__version__ = "0.1.0"

_HOME = {
    "Attended": "attention",
    "Step": "attention",
    "attend": "attention",
    "attend_local": "local",
    "hide": "inspection.hide",
    "record": "inspection.recorder",
    "softmax": "normalizers",
    "Faithfulness": "text.faithfulness",
    "faithfulness": "text.faithfulness",
    "train": "training",
    "RunResult": "training.run",
    "Captioner": "captioning.captioner",
    "Caption": "captioning.results",
    "Translator": "translation.translator",
    "Translation": "translation.results",
    "Alignment": "translation.results",
    "Watched": "translation.watched",
}
_ROOMS = ("errors", "kernels", "masks", "nn", "normalizers", "positions", "scores", "show")

__all__ = [
    "Alignment",
    "Attended",
    "Caption",
    "Captioner",
    "Faithfulness",
    "RunResult",
    "Step",
    "Translation",
    "Translator",
    "Watched",
    "__version__",
    "attend",
    "attend_local",
    "errors",
    "faithfulness",
    "hide",
    "kernels",
    "masks",
    "nn",
    "normalizers",
    "positions",
    "record",
    "scores",
    "show",
    "softmax",
    "train",
]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"regard.{name}")
    if name in _HOME:
        value = getattr(importlib.import_module(f"regard.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'regard' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
