"""A small convolutional network, trained from scratch with the caption model: for drawings such as ``scenes``."""

from __future__ import annotations

import torch
from PIL import Image
from torch import Tensor, nn

from regard.captioning.backbones.pixels import stretched
from regard.positions import sinusoidal

AROUND = 0.3  # how strongly, beside itself, a cell takes in its neighbours at first
LONGEST = 16.0  # how much longer the longest wave of the places is than the shortest, which is 2 pi cells


class SmallCNN(nn.Module):
    """Three convolutions of stride 2 and two of stride 1: a picture to a grid of ``side`` / 8 cells each way.

    Kernels of 4 with stride 2, and of 3 with stride 1, stay in the middle of what they stand for (those of 3 with
    stride 2 drift by half a pixel a layer). A cell is 8 pixels wide and sees 54 each way: the whole of what it is part
    of, and what lies beside that, for "left of" asks just this.

    To each cell are added the sines and cosines of its row and of its column (Vaswani et al. 2017, section 3.5): a
    convolution alone does not know where it is.
    """

    name = "small-cnn"
    trainable = True

    def __init__(self, *, side: int = 64, dim: int = 64, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.side, self.dim = side, dim
        self.rows = self.columns = side // 8
        self.identity = f"{self.name}, stretched to {side}"
        generator = generator or torch.Generator().manual_seed(0)
        layers: list[nn.Module] = []
        for inputs, outputs, kernel in (
            (3, dim // 4, 4), (dim // 4, dim // 2, 4), (dim // 2, dim, 4), (dim, dim, 3), (dim, dim, 3)
        ):  # fmt: skip
            layers += [_convolution(inputs, outputs, kernel, generator), nn.ReLU()]
        self.layers = nn.Sequential(*layers)
        self.norm = nn.LayerNorm(dim)  # of each cell by itself
        along = torch.from_numpy(sinusoidal(side // 8, dim // 2, base=LONGEST)).float()
        both = along[:, None].expand(-1, side // 8, -1), along[None].expand(side // 8, -1, -1)
        self.register_buffer("places", torch.cat(both, -1), persistent=False)

    def prepare(self, photo: Image.Image) -> Tensor:
        return stretched(photo, self.side, self.side) / 127.5 - 1

    def grid(self, batch: Tensor) -> Tensor:
        features: Tensor = self.norm(self.layers(batch).permute(0, 2, 3, 1))
        return features + self.get_buffer("places")

    forward = grid


def _convolution(inputs: int, outputs: int, kernel: int, generator: torch.Generator) -> nn.Conv2d:
    """Drawn from the generator; the global random state is left as it is."""
    with torch.device("meta"):
        layer = nn.Conv2d(inputs, outputs, kernel, stride=2 - kernel % 2, padding=1)
    layer.to_empty(device="cpu")
    nn.init.kaiming_normal_(layer.weight, nonlinearity="relu", generator=generator)
    if kernel == 3:  # begins as one of single cells, nearly, so that a cell is first of all about its own part
        with torch.no_grad():
            layer.weight.mul_(AROUND)
            layer.weight[:, :, 1, 1].mul_(3 / AROUND)
    layer.bias = nn.Parameter(torch.zeros(outputs))
    return layer
