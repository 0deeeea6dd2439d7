"""The Transformer (Vaswani et al. 2017), with the normalisation before each sub-layer (Xiong et al. 2020, sec. 3).

Encoder and decoder work on embedded words; the decoder also one word at a time, keeping the keys and values of the
words before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from regard.errors import ShapeError, choose
from regard.nn.dropout import Dropout
from regard.nn.multi_head import MultiHeadAttention
from regard.positions import rotary, sinusoidal

if TYPE_CHECKING:
    from regard.attention import Attended

KeysAndValues = tuple[Tensor, Tensor]
"""Projected and split into heads: (..., h, n, d) each."""


class Positions(nn.Module):
    """How the layers know the order: something added to the inputs, or a turn of queries and keys."""

    def add(self, inputs: Tensor, first: int = 0) -> Tensor:  # noqa: ARG002 - kinds that add need the place
        """Inputs (..., n, dim), of which the first stands at place ``first``."""
        return inputs

    def turn(self, heads: Tensor, first: int = 0) -> Tensor:  # noqa: ARG002 - kinds that turn need the place
        """Queries or keys (..., h, n, d)."""
        return heads


class Sinusoidal(Positions):
    """Sines and cosines added to the inputs (Vaswani et al. 2017, sec. 3.5)."""

    def __init__(self, dim: int, max_positions: int) -> None:  # noqa: ARG002 - there is no last place
        super().__init__()
        # No buffer: it grows with the sentences seen, and processes that train together see different ones.
        self.table = torch.empty(0, dim)

    def add(self, inputs: Tensor, first: int = 0) -> Tensor:
        end = first + inputs.shape[-2]
        if end > len(self.table) or self.table.dtype != inputs.dtype or self.table.device != inputs.device:
            with torch.inference_mode(False):
                self.table = torch.from_numpy(sinusoidal(2 * end, inputs.shape[-1])).to(inputs.device, inputs.dtype)
        return inputs + self.table[first:end]


class Learned(Positions):
    """A trained vector for each place, added to the inputs (Gehring et al. 2017, sec. 3.1)."""

    def __init__(self, dim: int, max_positions: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(max_positions, dim))
        nn.init.normal_(self.table, std=dim**-0.5)

    def add(self, inputs: Tensor, first: int = 0) -> Tensor:
        end = first + inputs.shape[-2]
        if end > len(self.table):
            raise ShapeError(
                f"the model has learned {len(self.table)} places; this sentence needs {end}. Shorten it, or train "
                "with a larger max_positions, or with sinusoidal or rotary positions, which have no last place."
            )
        return inputs + self.table[first:end]


class Rotary(Positions):
    """Queries and keys turned by an angle that grows with the place (Su et al. 2021, sec. 3.2.2)."""

    def __init__(self, dim: int, max_positions: int) -> None:  # noqa: ARG002 - nothing to hold
        super().__init__()

    def turn(self, heads: Tensor, first: int = 0) -> Tensor:
        turned: Tensor = rotary(heads, range(first, first + heads.shape[-2]))
        return turned


POSITIONS = {"sinusoidal": Sinusoidal, "learned": Learned, "rotary": Rotary}


@dataclass(frozen=True)
class Shape:
    """The sizes that all layers share."""

    dim: int
    heads: int
    feedforward: int
    dropout: float = 0.0
    dropout_attention: float = 0.0
    dropout_feedforward: float = 0.0

    def attention(self) -> MultiHeadAttention:
        return MultiHeadAttention(self.dim, self.heads, dropout=self.dropout_attention)

    def feed_forward(self) -> nn.Sequential:
        """Vaswani et al. 2017, sec. 3.3."""
        return nn.Sequential(
            nn.Linear(self.dim, self.feedforward),
            nn.ReLU(),
            Dropout(self.dropout_feedforward),
            nn.Linear(self.feedforward, self.dim),
        )


class EncoderLayer(nn.Module):
    """Self-attention, then a feed-forward layer; each reads a normalised input and adds to it."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.attention, self.feed_forward = shape.attention(), shape.feed_forward()
        self.norms = nn.ModuleList(nn.LayerNorm(shape.dim) for _ in range(2))
        self.dropout = Dropout(shape.dropout)

    def forward(self, hidden: Tensor, positions: Positions, visible: Tensor | None) -> Tensor:
        """Hidden (b, k, dim), visible (b, 1, 1, k)."""
        normal = self.norms[0](hidden)
        query, (key, value) = _query(self.attention, normal, positions), _keys(self.attention, normal, positions)
        hidden = hidden + self.dropout(self.attention.attend_heads(query, key, value, visible).context)
        done: Tensor = hidden + self.dropout(self.feed_forward(self.norms[1](hidden)))
        return done


class DecoderLayer(nn.Module):
    """Self-attention, attention over the source, then a feed-forward layer."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.attention, self.cross, self.feed_forward = shape.attention(), shape.attention(), shape.feed_forward()
        self.norms = nn.ModuleList(nn.LayerNorm(shape.dim) for _ in range(3))
        self.dropout = Dropout(shape.dropout)

    def forward(
        self, hidden: Tensor, positions: Positions, memory: KeysAndValues, visible: Tensor | None
    ) -> tuple[Tensor, Attended]:
        """All words at once: hidden (b, q, dim). Also where it looked in the source."""
        normal = self.norms[0](hidden)
        query, (key, value) = _query(self.attention, normal, positions), _keys(self.attention, normal, positions)
        earlier = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool, device=hidden.device).tril()
        hidden = hidden + self.dropout(self.attention.attend_heads(query, key, value, earlier).context)
        return self._look_and_feed(hidden, memory, visible)

    def step(
        self,
        hidden: Tensor,
        positions: Positions,
        memory: KeysAndValues,
        visible: Tensor | None,
        past: KeysAndValues | None,
        time: int,
    ) -> tuple[Tensor, Attended, KeysAndValues]:
        """The next word of each hypothesis: hidden (b, w, dim), past (b, w, h, t, d)."""
        normal = self.norms[0](hidden)[:, :, None]
        query, now = _query(self.attention, normal, positions, time), _keys(self.attention, normal, positions, time)
        if past is not None:
            now = (torch.cat([past[0], now[0]], -2), torch.cat([past[1], now[1]], -2))
        found: Tensor = self.attention.attend_heads(query, *now).context
        hidden, looked = self._look_and_feed(hidden + found[:, :, 0], memory, visible)
        return hidden, looked, now

    def _look_and_feed(self, hidden: Tensor, memory: KeysAndValues, visible: Tensor | None) -> tuple[Tensor, Attended]:
        query = self.cross.split(self.cross.W_q(self.norms[1](hidden)))
        looked = self.cross.attend_heads(query, *memory, visible)
        hidden = hidden + self.dropout(looked.context)
        return hidden + self.dropout(self.feed_forward(self.norms[2](hidden))), looked


class TransformerEncoder(nn.Module):
    """Embedded words (b, k, dim) to annotations (b, k, dim).

    >>> encoder = TransformerEncoder(Shape(8, heads=2, feedforward=16), layers=2)
    >>> encoder(torch.zeros(3, 5, 8)).shape
    torch.Size([3, 5, 8])
    """

    def __init__(self, shape: Shape, layers: int, *, positions: str = "sinusoidal", max_positions: int = 1024) -> None:
        super().__init__()
        self.positions = choose("kind of positions", positions, POSITIONS)(shape.dim, max_positions)
        self.dropout = Dropout(shape.dropout)
        self.layers = nn.ModuleList(EncoderLayer(shape) for _ in range(layers))
        self.norm = nn.LayerNorm(shape.dim)

    def forward(self, embedded: Tensor, visible: Tensor | None = None) -> Tensor:
        """Visible (b, k), True on words."""
        seen = None if visible is None else visible[:, None, None]
        hidden = self.dropout(self.positions.add(embedded * math.sqrt(embedded.shape[-1])))
        for layer in self.layers:
            hidden = layer(hidden, self.positions, seen)
        annotations: Tensor = self.norm(hidden)
        return annotations


@dataclass(frozen=True)
class TransformerState:
    """Where the decoding of b sentences stands, with w hypotheses of each."""

    memory: tuple[KeysAndValues, ...]
    """the source's, layer by layer: (b, h, k, d)"""
    visible: Tensor | None
    """(b, 1, 1, k)"""
    past: tuple[KeysAndValues, ...]
    """of the words so far, layer by layer: (b, w, h, t, d); empty before the first"""
    time: int

    def reorder(self, hypotheses: Tensor) -> TransformerState:
        """The state with hypothesis ``hypotheses[i, j]`` of sentence i in place j; (b, w') of int64."""
        if not self.past:
            return self
        b, w = self.past[0][0].shape[:2]
        rows = (hypotheses + w * torch.arange(b)[:, None]).flatten().to(self.past[0][0].device)

        def pick(part: Tensor) -> Tensor:
            picked = part.flatten(0, 1).index_select(0, rows)
            return picked.view(*hypotheses.shape, *picked.shape[1:])

        return replace(self, past=tuple((pick(keys), pick(values)) for keys, values in self.past))

    def keep(self, sentences: Tensor) -> TransformerState:
        """The state of these sentences only; (b',) of int64."""
        sentences = sentences.to(self.memory[0][0].device)

        def kept(tensor: Tensor) -> Tensor:
            return tensor.index_select(0, sentences)  # tensor[sentences] adds gradients in any order

        memory, past = (
            tuple((kept(keys), kept(values)) for keys, values in layers) for layers in (self.memory, self.past)
        )
        return replace(self, memory=memory, past=past, visible=None if self.visible is None else kept(self.visible))


class TransformerDecoder(nn.Module):
    """Words and annotations to the features of the next words."""

    def __init__(self, shape: Shape, layers: int, *, positions: str = "sinusoidal", max_positions: int = 1024) -> None:
        super().__init__()
        self.positions = choose("kind of positions", positions, POSITIONS)(shape.dim, max_positions)
        self.dropout = Dropout(shape.dropout)
        self.layers = nn.ModuleList(DecoderLayer(shape) for _ in range(layers))
        self.norm = nn.LayerNorm(shape.dim)

    def start(self, annotations: Tensor, visible: Tensor | None = None) -> TransformerState:
        """Annotations (b, k, dim), visible (b, k): before the first word, the source's keys and values made."""
        memory = tuple(
            (layer.cross.split(layer.cross.W_k(annotations)), layer.cross.split(layer.cross.W_v(annotations)))
            for layer in self._layers()
        )
        return TransformerState(memory, None if visible is None else visible[:, None, None], (), time=0)

    def step(self, embedded: Tensor, state: TransformerState) -> tuple[Tensor, list[Attended], TransformerState]:
        """The last words of all hypotheses (b, w, dim): features (b, w, dim), each layer's look, the next state."""
        hidden = self._enter(embedded[:, :, None], state.time)[:, :, 0]
        looks, past = [], []
        for number, layer in enumerate(self._layers()):
            before = state.past[number] if state.past else None
            hidden, looked, now = layer.step(
                hidden, self.positions, state.memory[number], state.visible, before, state.time
            )
            looks.append(looked)
            past.append(now)
        return self.norm(hidden), looks, replace(state, past=tuple(past), time=state.time + 1)

    def forward(self, embedded: Tensor, state: TransformerState) -> tuple[Tensor, list[Attended]]:
        """All words at once, given (b, q, dim): features (b, q, dim), and each layer's looks at the source."""
        hidden = self._enter(embedded, 0)
        looks = []
        for layer, memory in zip(self._layers(), state.memory, strict=True):
            hidden, looked = layer(hidden, self.positions, memory, state.visible)
            looks.append(looked)
        return self.norm(hidden), looks

    def _enter(self, embedded: Tensor, time: int) -> Tensor:
        entered: Tensor = self.dropout(self.positions.add(embedded * math.sqrt(embedded.shape[-1]), time))
        return entered

    def _layers(self) -> Sequence[DecoderLayer]:
        return list(self.layers)  # type: ignore[arg-type]


def _query(attention: MultiHeadAttention, hidden: Tensor, positions: Positions, first: int = 0) -> Tensor:
    return positions.turn(attention.split(attention.W_q(hidden)), first)


def _keys(attention: MultiHeadAttention, hidden: Tensor, positions: Positions, first: int = 0) -> KeysAndValues:
    keys = positions.turn(attention.split(attention.W_k(hidden)), first)
    return keys, attention.split(attention.W_v(hidden))
