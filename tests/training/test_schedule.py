"""The learning rate of each update, by hand."""

from __future__ import annotations

import math

import pytest

from regard.training.config import TrainingConfig
from regard.training.schedule import learning_rate


@pytest.mark.parametrize(
    ("schedule", "rates"),
    [
        ("constant", [0.5, 1, 1, 1, 1, 1]),
        ("inverse_sqrt", [0.5, 1, math.sqrt(2 / 3), math.sqrt(2 / 4), math.sqrt(2 / 5), math.sqrt(2 / 6)]),
        ("linear", [0.5, 1, 1, 0.75, 0.5, 0.25]),
        ("cosine", [0.5, 1, 1, (1 + math.cos(math.pi / 4)) / 2, 0.5, (1 + math.cos(math.pi * 3 / 4)) / 2]),
    ],
)
def test_schedules_by_hand(schedule, rates):
    config = TrainingConfig(learning_rate=1.0, warmup=2, updates=6, schedule=schedule)
    assert [learning_rate(config, n) for n in range(1, 7)] == pytest.approx(rates)
