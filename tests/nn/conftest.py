"""Layers draw their first weights from torch's own state: it is fixed for each test, and put back after it."""

import pytest
import torch


@pytest.fixture(autouse=True)
def same_weights_every_time():
    with torch.random.fork_rng():
        torch.manual_seed(11)
        yield
