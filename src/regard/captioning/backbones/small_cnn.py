"""A small convolutional network, trained from scratch with the caption model: for drawings such as ``scenes``."""

from __future__ import annotations

import torch
from PIL import Image
from torch import Tensor, nn

from regard.captioning.backbones.pixels import stretched


class SmallCNN(nn.Module):
    """Three convolutions of stride 2 and one more: a ``side`` x ``side`` picture to a grid of side / 8 cells each way.

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
        for inputs, outputs, stride in ((5, dim // 4, 2), (dim // 4, dim // 2, 2), (dim // 2, dim, 2), (dim, dim, 1)):
            layers += [_convolution(inputs, outputs, stride, generator), nn.GroupNorm(8, outputs), nn.ReLU()]
        self.layers = nn.Sequential(*layers)
        steps = (torch.arange(side) + 0.5) / side * 2 - 1
        places = torch.stack(torch.meshgrid(steps, steps, indexing="ij"))
        self.register_buffer("places", places, persistent=False)

    def prepare(self, photo: Image.Image) -> Tensor:
        return stretched(photo, self.side, self.side) / 127.5 - 1

    def grid(self, batch: Tensor) -> Tensor:
        places = self.get_buffer("places").expand(len(batch), -1, -1, -1)
        features: Tensor = self.layers(torch.cat([batch, places], 1))
        return features.permute(0, 2, 3, 1)

    forward = grid


def _convolution(inputs: int, outputs: int, stride: int, generator: torch.Generator) -> nn.Conv2d:
    """Drawn from the generator; the global random state is left as it is."""
    with torch.device("meta"):
        layer = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)
    layer.to_empty(device="cpu")
    nn.init.kaiming_normal_(layer.weight, nonlinearity="relu", generator=generator)
    return layer
