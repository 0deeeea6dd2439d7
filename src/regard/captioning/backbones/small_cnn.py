"""A small convolutional network, trained from scratch with the caption model: for drawings such as ``scenes``."""

from __future__ import annotations

import torch
from PIL import Image
from torch import Tensor, nn
from torch.nn import functional as F

from regard.captioning.backbones.pixels import stretched
from regard.positions import sinusoidal

CELL = 16  # pixels
MIDDLE = 8  # pixels: what of a cell tells whether it is on a thing
OUTSTANDING = 0.7  # how far at least, in colours from -1 to 1, what is wholly on a thing is from the ground
LONGEST = 16.0  # how much longer the longest wave of the places is than the shortest, which is 2 pi cells


class SmallCNN(nn.Module):
    """Like an eye, each of the ``side`` / 16 cells each way sees sharply where it is, and blurred around.

    Two thirds of its ``dim`` features come from four convolutions of stride 2, which see 46 pixels each way: a thing,
    and little else. They are as strong as the middle of the cell stands out from the ground, which is the colour of
    most of a drawing: empty ground says next to nothing of the thing beside it. One third comes from two convolutions
    over the mean colour of whole cells, two of them on every side: enough for "left of a red" thing, too little for its
    shape. So a shape is told from the cells on it.

    Kernels of 4 with stride 2, and of 3 with stride 1, stay in the middle of what they stand for (those of 3 with
    stride 2 drift by half a pixel a layer). To each cell are added the sines and cosines of its row and of its column
    (Vaswani et al. 2017, section 3.5): a convolution alone does not know where it is.
    """

    name = "small-cnn"
    trainable = True

    def __init__(self, *, side: int = 64, dim: int = 96, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.side, self.dim = side, dim
        self.rows = self.columns = side // CELL
        self.identity = f"{self.name}, figure from ground, stretched to {side}"
        generator = generator or torch.Generator().manual_seed(0)
        blurred = dim // 3
        sharp = dim - blurred
        halving = [(3, sharp // 4, 4), (sharp // 4, sharp // 2, 4), (sharp // 2, sharp, 4), (sharp, sharp, 4)]
        self.sharp = _layers([*halving, (sharp, sharp, 1)], generator)
        self.blurred = _layers([(3, blurred, 3), (blurred, blurred, 3)], generator)
        along = torch.from_numpy(sinusoidal(self.rows, dim // 2, base=LONGEST)).float()
        both = along[:, None].expand(-1, self.rows, -1), along[None].expand(self.rows, -1, -1)
        self.register_buffer("places", torch.cat(both, -1), persistent=False)

    def prepare(self, photo: Image.Image) -> Tensor:
        return stretched(photo, self.side, self.side) / 127.5 - 1

    def grid(self, batch: Tensor) -> Tensor:
        features = torch.cat([self.sharp(batch) * figure(batch), self.blurred(F.avg_pool2d(batch, CELL))], 1)
        return features.permute(0, 2, 3, 1) + self.get_buffer("places")

    forward = grid


def figure(batch: Tensor) -> Tensor:
    """How much of each cell's middle is figure, not ground: pictures (b, 3, n, n) to shares (b, 1, n / 16, n / 16)."""
    ground = batch.flatten(2).median(-1).values[..., None, None]
    edge, end = (CELL - MIDDLE) // 2, batch.shape[-1] // CELL * CELL
    middles = F.avg_pool2d(batch[..., edge:end, edge:end], MIDDLE, stride=CELL)
    apart: Tensor = (middles - ground).norm(dim=1, keepdim=True)
    return (apart / OUTSTANDING).clamp(max=1)


def _layers(sizes: list[tuple[int, int, int]], generator: torch.Generator) -> nn.Sequential:
    """Convolutions, each followed by a ReLU, of these numbers of inputs and outputs and these kernels."""
    layers: list[nn.Module] = []
    for inputs, outputs, kernel in sizes:
        layers += [_convolution(inputs, outputs, kernel, generator), nn.ReLU()]
    return nn.Sequential(*layers)


def _convolution(inputs: int, outputs: int, kernel: int, generator: torch.Generator) -> nn.Conv2d:
    """Drawn from the generator; the global random state is left as it is. Even kernels halve the picture."""
    with torch.device("meta"):
        layer = nn.Conv2d(inputs, outputs, kernel, stride=2 - kernel % 2, padding=(kernel - 1) // 2)
    layer.to_empty(device="cpu")
    nn.init.kaiming_normal_(layer.weight, nonlinearity="relu", generator=generator)
    layer.bias = nn.Parameter(torch.zeros(outputs))
    return layer
