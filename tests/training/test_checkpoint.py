"""Checkpoints: whole or not at all, one revision after the other, on any device."""

from __future__ import annotations

import torch

from regard.training import checkpoint
from regard.training.checkpoint import Checkpoints, State


def test_a_run_begun_on_a_cpu_may_go_on_elsewhere():
    """There is no state of that device in the checkpoint; the notes on resuming say that it is another."""
    before = torch.get_rng_state()
    checkpoint.restore_random_states({"cpu": before}, torch.device("cuda"))
    assert torch.equal(torch.get_rng_state(), before)


def test_the_same_update_can_be_saved_again_without_a_moment_of_none(tmp_path):
    """An interrupt before a validation saves that update; the validation after resuming saves it again."""
    checkpoints = Checkpoints(tmp_path)
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.AdamW(model.parameters())
    for since_best in range(3):
        checkpoints.save(State(update=6, since_best=since_best), model, optimizer, {})
        assert checkpoints.latest().since_best == since_best
        checkpoints.prune(set())
        assert len(list((tmp_path / "checkpoints").iterdir())) == 1
    assert checkpoints.updates() == [6]
