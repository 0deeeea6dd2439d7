"""A small convolutional network, trained from scratch with the caption model: for drawings such as ``scenes``."""

from __future__ import annotations

import torch
from PIL import Image
from torch import Tensor, nn

from regard.captioning.backbones.pixels import stretched


class SmallCNN(nn.Module):
    """Three convolutions of stride 2 and one of single cells: a picture to a grid of ``side`` / 8 cells each way.

    Kernels of 4 with stride 2 stay in the middle of what they stand for (those of 3 drift by half a pixel a layer), and
    a cell sees 22 pixels each way, 8 of them its own: where it looks is where the cell is.

    Each picture gets two more channels, the coordinates of every pixel (Liu et al. 2018, CoordConv, section 3): a
    convolution alone does not know where it is, and "left of" asks just that.
    """

    name = "small-cnn"
    trainable = True

    def __init__(self, *, side: int = 64, dim: int = 128, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.side, self.dim = side, dim
        self.rows = self.columns = side // 8
        self.identity = f"{self.name}, stretched to {side}"
        generator = generator or torch.Generator().manual_seed(0)
        layers: list[nn.Module] = []
        for inputs, outputs, kernel in ((5, dim // 4, 4), (dim // 4, dim // 2, 4), (dim // 2, dim, 4), (dim, dim, 1)):
            layers += [_convolution(inputs, outputs, kernel, generator), nn.ReLU()]
        self.layers = nn.Sequential(*layers)
        self.norm = nn.LayerNorm(dim)  # of each cell by itself, so that none tells of the others
        steps = (torch.arange(side) + 0.5) / side * 2 - 1
        places = torch.stack(torch.meshgrid(steps, steps, indexing="ij"))
        self.register_buffer("places", places, persistent=False)

    def prepare(self, photo: Image.Image) -> Tensor:
        return stretched(photo, self.side, self.side) / 127.5 - 1

    def grid(self, batch: Tensor) -> Tensor:
        places = self.get_buffer("places").expand(len(batch), -1, -1, -1)
        features: Tensor = self.norm(self.layers(torch.cat([batch, places], 1)).permute(0, 2, 3, 1))
        return features

    forward = grid


def _convolution(inputs: int, outputs: int, kernel: int, generator: torch.Generator) -> nn.Conv2d:
    """Drawn from the generator; the global random state is left as it is."""
    with torch.device("meta"):
        layer = nn.Conv2d(inputs, outputs, kernel, stride=(kernel + 1) // 2, padding=kernel // 4)
    layer.to_empty(device="cpu")
    nn.init.kaiming_normal_(layer.weight, nonlinearity="relu", generator=generator)
    layer.bias = nn.Parameter(torch.zeros(outputs))
    return layer
