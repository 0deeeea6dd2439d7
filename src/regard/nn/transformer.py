"""The Transformer (Vaswani et al. 2017), with the normalisation before each sub-layer (Xiong et al. 2020, sec. 3).

Encoder and decoder work on embedded words; the decoder also one word at a time, keeping the keys and values of the
words before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor, nn

from regard.errors import ShapeError, choose
from regard.nn.dropout import Dropout
from regard.nn.multi_head import MultiHeadAttention
from regard.positions import rotary, sinusoidal
from regard.shape_types import Bool, Float, Int

if TYPE_CHECKING:
    from regard.attention import Attended
    from regard.normalizers import Normalizer

KeysAndValues = tuple[Tensor, Tensor]
"""Projected and split into heads: (..., h, n, d) each."""


class Source(NamedTuple):
    """What one layer of the decoder attends over."""

    memory: KeysAndValues
    visible: Tensor | None
    """(b, 1, 1, k)"""
    normalize: Normalizer | None


class Positions(nn.Module):
    """How the layers know the order: something added to the inputs, or a turn of queries and keys."""

    def add(self, inputs: Float[Tensor, "*b n dim"], first: int = 0) -> Float[Tensor, "*b n dim"]:  # noqa: ARG002 - kinds that add need the place
        """Inputs (..., n, dim), of which the first stands at place ``first``."""
        return inputs

    def turn(self, heads: Float[Tensor, "*b h n d"], first: int = 0) -> Float[Tensor, "*b h n d"]:  # noqa: ARG002 - kinds that turn need the place
        """Queries or keys (..., h, n, d)."""
        return heads


class Sinusoidal(Positions):
    """Sines and cosines added to the inputs (Vaswani et al. 2017, sec. 3.5)."""

    def __init__(self, dim: int, max_positions: int) -> None:  # noqa: ARG002 - there is no last place
        super().__init__()
        # No buffer: it grows with the sentences seen, and processes that train together see different ones.
        self.table = torch.empty(0, dim)

    def add(self, inputs: Float[Tensor, "*b n dim"], first: int = 0) -> Float[Tensor, "*b n dim"]:
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

    def add(self, inputs: Float[Tensor, "*b n dim"], first: int = 0) -> Float[Tensor, "*b n dim"]:
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

    def turn(self, heads: Float[Tensor, "*b h n d"], first: int = 0) -> Float[Tensor, "*b h n d"]:
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

    def forward(
        self, hidden: Float[Tensor, "b k dim"], positions: Positions, visible: Bool[Tensor, "b 1 1 k"] | None
    ) -> Float[Tensor, "b k dim"]:
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
        self, hidden: Float[Tensor, "b q dim"], positions: Positions, source: Source
    ) -> tuple[Float[Tensor, "b q dim"], Attended]:
        """All words at once: hidden (b, q, dim). Also its attention over the source."""
        normal = self.norms[0](hidden)
        query, (key, value) = _query(self.attention, normal, positions), _keys(self.attention, normal, positions)
        earlier = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool, device=hidden.device).tril()
        hidden = hidden + self.dropout(self.attention.attend_heads(query, key, value, earlier).context)
        return self._cross_and_feed(hidden, source)

    def step(
        self,
        hidden: Float[Tensor, "b w dim"],
        positions: Positions,
        source: Source,
        past: KeysAndValues | None,
        time: int,
    ) -> tuple[Float[Tensor, "b w dim"], Attended, KeysAndValues]:
        """The next word of each hypothesis; past (b, w, h, t, d)."""
        normal = self.norms[0](hidden)[:, :, None]
        query, now = _query(self.attention, normal, positions, time), _keys(self.attention, normal, positions, time)
        if past is not None:
            now = (torch.cat([past[0], now[0]], -2), torch.cat([past[1], now[1]], -2))
        found: Tensor = self.attention.attend_heads(query, *now).context
        hidden, attended = self._cross_and_feed(hidden + found[:, :, 0], source)
        return hidden, attended, now

    def _cross_and_feed(
        self, hidden: Float[Tensor, "b q dim"], source: Source
    ) -> tuple[Float[Tensor, "b q dim"], Attended]:
        query = self.cross.split(self.cross.W_q(self.norms[1](hidden)))
        attended = self.cross.attend_heads(query, *source.memory, source.visible, normalize=source.normalize)
        hidden = hidden + self.dropout(attended.context)
        return hidden + self.dropout(self.feed_forward(self.norms[2](hidden))), attended


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

    def forward(
        self, embedded: Float[Tensor, "b k dim"], visible: Bool[Tensor, "b k"] | None = None
    ) -> Float[Tensor, "b k dim"]:
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
    normalize: Normalizer | None = None
    """how the attention over the source turns scores into weights, where it is not by softmax"""

    def source(self, layer: int) -> Source:
        """What that layer attends over."""
        return Source(self.memory[layer], self.visible, self.normalize)

    def hide(self, hidden: Tensor) -> TransformerState:
        """The state whose attention over the source may not see what is ``hidden``, (b, k)."""
        visible = ~hidden[:, None, None]
        return replace(self, visible=visible if self.visible is None else visible & self.visible)

    def normalized_by(self, normalize: Normalizer | None) -> TransformerState:
        """The state whose attention over the source turns scores into weights by ``normalize``; None = by softmax."""
        return replace(self, normalize=normalize)

    def reorder(self, hypotheses: Int[Tensor, "b w"]) -> TransformerState:
        """The state with hypothesis ``hypotheses[i, j]`` of sentence i in place j; (b, w') of int64."""
        if not self.past:
            return self
        b, w = self.past[0][0].shape[:2]
        rows = (hypotheses + w * torch.arange(b)[:, None]).flatten().to(self.past[0][0].device)

        def pick(part: Tensor) -> Tensor:
            picked = part.flatten(0, 1).index_select(0, rows)
            return picked.view(*hypotheses.shape, *picked.shape[1:])

        return replace(self, past=tuple((pick(keys), pick(values)) for keys, values in self.past))

    def keep(self, sentences: Int[Tensor, " n"]) -> TransformerState:
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

    def start(
        self, annotations: Float[Tensor, "b k dim"], visible: Bool[Tensor, "b k"] | None = None
    ) -> TransformerState:
        """Before the first word, the source's keys and values made."""
        memory = tuple(
            (layer.cross.split(layer.cross.W_k(annotations)), layer.cross.split(layer.cross.W_v(annotations)))
            for layer in self._layers()
        )
        return TransformerState(memory, None if visible is None else visible[:, None, None], (), time=0)

    def step(self, embedded: Tensor, state: TransformerState) -> tuple[Tensor, list[Attended], TransformerState]:
        """The last words of all hypotheses (b, w, dim): features (b, w, dim), each layer's attention, next state."""
        hidden = self._enter(embedded[:, :, None], state.time)[:, :, 0]
        cross, past = [], []
        for number, layer in enumerate(self._layers()):
            before = state.past[number] if state.past else None
            hidden, attended, now = layer.step(hidden, self.positions, state.source(number), before, state.time)
            cross.append(attended)
            past.append(now)
        return self.norm(hidden), cross, replace(state, past=tuple(past), time=state.time + 1)

    def forward(self, embedded: Tensor, state: TransformerState) -> tuple[Tensor, list[Attended]]:
        """All words at once, given (b, q, dim): features (b, q, dim), and each layer's attention over the source."""
        hidden = self._enter(embedded, 0)
        cross = []
        for number, layer in enumerate(self._layers()):
            hidden, attended = layer(hidden, self.positions, state.source(number))
            cross.append(attended)
        return self.norm(hidden), cross

    def _enter(self, embedded: Float[Tensor, "*b n dim"], time: int) -> Float[Tensor, "*b n dim"]:
        entered: Tensor = self.dropout(self.positions.add(embedded * math.sqrt(embedded.shape[-1]), time))
        return entered

    def _layers(self) -> Sequence[DecoderLayer]:
        return list(self.layers)  # type: ignore[arg-type]


def _query(
    attention: MultiHeadAttention, hidden: Float[Tensor, "*b n dim"], positions: Positions, first: int = 0
) -> Float[Tensor, "*b h n d"]:
    return positions.turn(attention.split(attention.W_q(hidden)), first)


def _keys(attention: MultiHeadAttention, hidden: Tensor, positions: Positions, first: int = 0) -> KeysAndValues:
    keys = positions.turn(attention.split(attention.W_k(hidden)), first)
    return keys, attention.split(attention.W_v(hidden))
