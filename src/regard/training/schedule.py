"""The learning rate of each update."""

from __future__ import annotations

import math

from regard.training.config import TrainingConfig


def learning_rate(config: TrainingConfig, update: int) -> float:
    """The rate of update number ``update``, counted from 1.

    ``inverse_sqrt`` is the schedule of Vaswani et al. 2017, section 5.3, with its peak at ``learning_rate``.

    >>> [learning_rate(TrainingConfig(learning_rate=1.0, warmup=4, schedule="inverse_sqrt"), n) for n in (1, 4, 16)]
    [0.25, 1.0, 0.5]
    """
    if update <= config.warmup:
        return config.learning_rate * update / config.warmup
    return config.learning_rate * _after_warmup(config, update)


def _after_warmup(config: TrainingConfig, update: int) -> float:
    if config.schedule == "constant":
        return 1.0
    if config.schedule == "inverse_sqrt":
        return math.sqrt(max(1, config.warmup) / update)
    passed = min(1.0, (update - 1 - config.warmup) / (config.updates - config.warmup))
    return 1 - passed if config.schedule == "linear" else (1 + math.cos(math.pi * passed)) / 2
