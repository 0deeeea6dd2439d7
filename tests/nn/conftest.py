"""Layers draw their first weights from torch's own state: it is fixed for each test, and put back after it."""

import pytest
import torch

from regard.nn import additive_looks, cells, output


@pytest.fixture(autouse=True)
def same_weights_every_time():
    with torch.random.fork_rng():
        torch.manual_seed(11)
        yield


@pytest.fixture(params=["kernels", "plain torch"])
def way(request, monkeypatch):
    """By the package's own kernels, or by the plain torch that other devices and widths take."""
    if request.param == "plain torch":
        for module in (additive_looks, cells, output):
            monkeypatch.setattr(module, "has_kernels", lambda *_: False)
