"""The recurrent encoder, which reads a sentence."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from regard.errors import choose
from regard.nn.cells import CELLS, Cell
from regard.nn.dropout import Dropout
from regard.shape_types import Bool, Float, Int


class Encoded(NamedTuple):
    """A sentence as the encoder leaves it."""

    annotations: Float[Tensor, "b k v"]
    """(b, k, directions * d): what each word is, in its surroundings."""
    summary: Float[Tensor, "b v"]
    """(b, directions * d): the last state of each direction, in which the whole sentence has been read."""


class Encoder(nn.Module):
    """Reads a sentence word by word, in one or two directions (Bahdanau et al. 2015, sec. 3.2).

    >>> encoder = Encoder(5, 7, cell="lstm", layers=2)
    >>> encoded = encoder(torch.zeros(3, 4, 5), torch.tensor([4, 2, 1]))
    >>> encoded.annotations.shape, encoded.summary.shape
    (torch.Size([3, 4, 14]), torch.Size([3, 14]))
    """

    def __init__(
        self,
        embedding_dim: int,
        hidden_dim: int,
        *,
        cell: str = "gru",
        layers: int = 1,
        bidirectional: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        kind = choose("cell", cell, CELLS)
        self.directions = 2 if bidirectional else 1
        self.annotation_dim = self.directions * hidden_dim
        self.dropout = Dropout(dropout)
        self.layers = nn.ModuleList(
            nn.ModuleList(
                Direction(self.annotation_dim if layer else embedding_dim, kind(hidden_dim), reverse=direction == 1)
                for direction in range(self.directions)
            )
            for layer in range(layers)
        )

    def forward(self, embedded: Float[Tensor, "b k e"], lengths: Int[Tensor, " b"]) -> Encoded:
        """Embedded words (b, k, e) and the number of them in each sentence (b,)."""
        time = torch.arange(embedded.shape[1], device=embedded.device)
        active = None if bool((lengths == embedded.shape[1]).all()) else time[:, None] < lengths
        hidden, last = embedded.transpose(0, 1).contiguous(), []
        for number, layer in enumerate(self.layers):
            inputs = self.dropout(hidden) if number else hidden
            assert isinstance(layer, nn.ModuleList)
            runs = [direction(inputs, active) for direction in layer]
            hidden = torch.cat(runs, -1)
            last = [run[0 if direction else -1] for direction, run in enumerate(runs)]
        return Encoded(hidden.transpose(0, 1), torch.cat(last, -1))


class Direction(nn.Module):
    """One layer that reads in one direction: inputs (t, b, e) to states (t, b, d)."""

    def __init__(self, input_dim: int, cell: Cell, *, reverse: bool) -> None:
        super().__init__()
        self.inputs, self.cell, self.reverse = nn.Linear(input_dim, cell.gates * cell.dim), cell, reverse

    def forward(self, inputs: Float[Tensor, "t b e"], active: Bool[Tensor, "t b"] | None) -> Float[Tensor, "t b d"]:
        start = (inputs.new_zeros(inputs.shape[1], self.cell.dim),) * self.cell.parts
        states: Tensor = self.cell(self.inputs(inputs), start, active, reverse=self.reverse)
        return states
