"""Layers draw their first weights from torch's own state: it is fixed for each test, and put back after it."""

import pytest
import torch

from regard.kernels import dispatch


@pytest.fixture(autouse=True)
def same_weights_every_time():
    with torch.random.fork_rng():
        torch.manual_seed(11)
        yield


@pytest.fixture(params=["compiled", "plain"])
def way(request):
    """By the package's own kernels, or by the plain torch that other devices and widths take."""
    with dispatch.forced(request.param):
        yield
