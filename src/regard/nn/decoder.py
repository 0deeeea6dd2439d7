"""The recurrent decoder: at every step a context, a new state, and the features of the next word.

Where the context comes from, and which state asks for it, is all that the classic models differ in:

========= ============================================================ ========================================
asked by  one step, from word y and state s                            paper
========= ============================================================ ========================================
(nobody)  s = f(s, y, c), c the encoder's summary at every step        Cho et al. 2014, sec. 2.2
previous  c = attend(s); s = f(s, y, c)                                Bahdanau et al. 2015, sec. 3.1
between   s = f(s, y); c = attend(s); s = g(s, c)                      Sennrich et al. 2017 (Nematus), sec. 2
current   s = f(s, y); c = attend(s)                                   Luong et al. 2015, sec. 3
========= ============================================================ ========================================
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor, nn

from regard.errors import ConfigError, choose
from regard.nn.rnn import CELLS, Cell, State

if TYPE_CHECKING:
    from regard.nn.attention import Attention

ASKED_BY = ("previous", "between", "current")


class Memory(NamedTuple):
    """What the decoder looks at, with the part that is the same at every step already computed."""

    annotations: Tensor
    """(b, k, a)"""
    summary: Tensor
    """(b, a)"""
    visible: Tensor | None
    """(b, 1, k), True where the decoder may look"""
    ready: Tensor
    """the attention's projected keys; without attention the summary's part in every step, (b, 1, gates * d)"""


@dataclass(frozen=True)
class DecoderState:
    """Where the decoding of b sentences stands, with w hypotheses of each."""

    memory: Memory
    hidden: State
    """each (b, w, d); layer by layer"""
    feed: Tensor | None
    """(b, w, f): the last step's features, with input feeding"""
    time: int

    def reorder(self, hypotheses: Tensor) -> DecoderState:
        """The state with hypothesis ``hypotheses[i, j]`` of sentence i in place j; (b, w') of int64."""
        pick = hypotheses[..., None]
        hidden = tuple(part.gather(1, pick.expand(-1, -1, part.shape[-1])) for part in self.hidden)
        feed = None if self.feed is None else self.feed.gather(1, pick.expand(-1, -1, self.feed.shape[-1]))
        return replace(self, hidden=hidden, feed=feed)

    def keep(self, sentences: Tensor) -> DecoderState:
        """The state of these sentences only; (b',) of int64."""
        memory = Memory(*(None if part is None else part[sentences] for part in self.memory))
        hidden = tuple(part[sentences] for part in self.hidden)
        return replace(self, memory=memory, hidden=hidden, feed=None if self.feed is None else self.feed[sentences])


class Looked(NamedTuple):
    """One look at the memory, or the looks of all steps side by side."""

    context: Tensor
    """(b, q, a)"""
    weights: Tensor | None
    """(b, q, k); None without attention"""
    scores: Tensor | None
    """(b, q, k): the weights before they were normalised"""


class Decoded(NamedTuple):
    """Every step of a decoding whose words were given."""

    features: Tensor
    """(b, q, f): what the output layer reads"""
    looked: Looked


class Decoder(nn.Module):
    """A recurrent decoder that takes a context at every step.

    ``attention=None`` gives it the encoder's summary each time. ``asked_by`` says which state scores the annotations
    (the table above). ``input_feeding`` lets the next step read this step's features (Luong et al. 2015, sec. 3.3),
    ``gate`` lets the decoder weigh the whole context (Xu et al. 2015, sec. 4.2.1).
    """

    def __init__(
        self,
        embedding_dim: int,
        annotation_dim: int,
        hidden_dim: int,
        feature_dim: int,
        *,
        attention: Attention | None = None,
        asked_by: str = "previous",
        cell: str = "gru",
        layers: int = 1,
        input_feeding: bool = False,
        gate: bool = False,
        readout: str = "tanh",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        kind = choose("cell", cell, CELLS)
        self.attention = attention
        self.asked_by = choose("asking state", asked_by, dict(zip(ASKED_BY, ASKED_BY, strict=True)))
        if self.asked_by == "between" and layers > 1:
            raise ConfigError(f"the conditional cell is one layer deep, not {layers}; set decoder_layers = 1")
        if input_feeding and (attention is None or self.asked_by != "current"):
            raise ConfigError(
                "input feeding gives the next step what the current state's attention found; "
                "it needs an attention that the current state asks for, such as dot, general or concat"
            )
        width = kind.gates * hidden_dim
        self.from_embedding = nn.Linear(embedding_dim, width)
        if self.context_into_state:
            self.from_context = nn.Linear(annotation_dim, width, bias=False)
        self.from_feed = nn.Linear(feature_dim, width, bias=False) if input_feeding else None
        self.cells = nn.ModuleList(kind(hidden_dim) for _ in range(2 if self.asked_by == "between" else layers))
        self.between = nn.ModuleList(nn.Linear(hidden_dim, width) for _ in range(layers - 1))
        self.dropout = nn.Dropout(dropout)
        self.first = nn.Linear(annotation_dim, layers * kind.parts * hidden_dim)
        self.gate = nn.Linear(hidden_dim, 1) if gate else None
        self.readout = Readout(
            (hidden_dim, annotation_dim, 0 if self.asked_by == "current" and attention else embedding_dim),
            feature_dim,
            activation=readout,
        )

    @property
    def context_into_state(self) -> bool:
        """Whether a step's context goes into its state."""
        return self.attention is None or self.asked_by != "current"

    def start(self, annotations: Tensor, summary: Tensor, visible: Tensor | None = None) -> DecoderState:
        """Annotations (b, k, a), summary (b, a), visible (b, k): before the first word, one hypothesis a sentence.

        The first state is predicted from the summary (Bahdanau et al. 2015, app. A.2.2; for an LSTM's cell too, as in
        Xu et al. 2015, sec. 3.1.2).
        """
        ready = self.from_context(summary[:, None]) if self.attention is None else self.attention.project(annotations)
        memory = Memory(annotations, summary, None if visible is None else visible[:, None], ready)
        hidden = torch.tanh(self.first(summary))[:, None].split(self._cell(0).dim, -1)
        feed = annotations.new_zeros(len(annotations), 1, self.readout.feature_dim) if self.from_feed else None
        return DecoderState(memory, hidden, feed, time=0)

    def step(self, embedded: Tensor, state: DecoderState) -> tuple[Tensor, Looked, DecoderState]:
        """The last words of the hypotheses (b, w, e): the next words' features (b, w, f), and where it looked."""
        hidden, looked = self._turn(self.from_embedding(embedded), state)
        features = self.readout(self._top(hidden), looked.context, embedded)
        feed = features if self.from_feed else None
        return features, looked, replace(state, hidden=hidden, feed=feed, time=state.time + 1)

    def forward(self, embedded: Tensor, state: DecoderState) -> Decoded:
        """All words at once, given (b, q, e): the same as ``step`` by step, faster."""
        # Time first: each step then reads one block of memory.
        products = self.from_embedding(embedded.transpose(0, 1))
        if self.attention is None:
            shown = self._over_time(products + state.memory.ready.transpose(0, 1), state)
            looked = Looked(_spread(state.memory.summary, shown), None, None)
        elif self.asked_by == "current" and self.from_feed is None:
            shown = self._over_time(products, state)
            looked = self._look(shown, state, steps=True)
        else:
            return self._one_by_one(embedded, products, state)
        return Decoded(self.readout(shown, looked.context, embedded), looked)

    def _one_by_one(self, embedded: Tensor, products: Tensor, state: DecoderState) -> Decoded:
        shown, looks, fed = [], [], []
        for time, product in enumerate(products):
            hidden, looked = self._turn(product[:, None], state)
            feed = None
            if self.from_feed is not None:
                feed = self.readout(self._top(hidden), looked.context, embedded[:, time : time + 1])
                fed.append(feed)
            state = replace(state, hidden=hidden, feed=feed, time=state.time + 1)
            shown.append(self._top(hidden))
            looks.append(looked)
        together = Looked(*(None if parts[0] is None else torch.cat(parts, 1) for parts in zip(*looks, strict=True)))
        if fed:
            return Decoded(torch.cat(fed, 1), together)
        return Decoded(self.readout(torch.cat(shown, 1), together.context, embedded), together)

    def _turn(self, product: Tensor, state: DecoderState) -> tuple[State, Looked]:
        """One step: the products of the words (b, w, gates * d) to the new state, and the look that went with it."""
        memory, hidden = state.memory, state.hidden
        if self.attention is None:
            return self._climb(product + memory.ready, hidden), Looked(_spread(memory.summary, product), None, None)
        if self.asked_by == "previous":
            looked = self._look(self._top(hidden), state)
            return self._climb(product + self.from_context(looked.context), hidden), looked
        if self.asked_by == "between":
            middle = self._cell(0).step(product, hidden)
            looked = self._look(middle[0], state)
            return self._cell(1).step(self.from_context(looked.context), middle), looked
        if self.from_feed is not None:
            product = product + self.from_feed(state.feed)
        hidden = self._climb(product, hidden)
        return hidden, self._look(self._top(hidden), state)

    def _look(self, query: Tensor, state: DecoderState, *, steps: bool = False) -> Looked:
        """The queries are w hypotheses at one time, or, with ``steps``, all times of one hypothesis."""
        assert self.attention is not None
        memory = state.memory
        time = torch.arange(query.shape[1], device=query.device) if steps else torch.full((), state.time)
        found = self.attention(
            query, memory.annotations, visible=memory.visible, projected=memory.ready, position=time
        )
        context = found.context if self.gate is None else torch.sigmoid(self.gate(query)) * found.context
        return Looked(context, found.weights, found.scores)

    def _climb(self, product: Tensor, hidden: State) -> State:
        """The new states of all layers; product is the lowest one's input."""
        new: list[Tensor] = []
        for layer in range(len(self.cells)):
            cell = self._cell(layer)
            if layer:
                product = self.between[layer - 1](self.dropout(new[-cell.parts]))
            new += cell.step(product, hidden[layer * cell.parts : (layer + 1) * cell.parts])
        return tuple(new)

    def _over_time(self, products: Tensor, state: DecoderState) -> Tensor:
        """The top state of all steps (b, q, d), for a recurrence that no context enters anew."""
        shown = products
        for layer in range(len(self.cells)):
            cell = self._cell(layer)
            if layer:
                products = self.between[layer - 1](self.dropout(shown))
            start = state.hidden[layer * cell.parts : (layer + 1) * cell.parts]
            shown = cell(products, tuple(part[:, 0] for part in start))
        return shown.transpose(0, 1)

    def _cell(self, layer: int) -> Cell:
        cell = self.cells[layer]
        assert isinstance(cell, Cell)
        return cell

    def _top(self, hidden: State) -> Tensor:
        return hidden[-self._cell(0).parts]


class Readout(nn.Module):
    """State, context and last word to the features that the output layer reads.

    ``tanh`` is Luong et al. 2015, eq. 5, and with the word Nematus' deep output (Sennrich et al. 2017, sec. 2);
    ``maxout`` the deep output of Bahdanau et al. 2015, app. A.2.2, with the state of eq. 4.
    """

    def __init__(self, dims: tuple[int, int, int], feature_dim: int, *, activation: str = "tanh") -> None:
        super().__init__()
        self.feature_dim = feature_dim
        self.pieces = choose("readout", activation, {"tanh": 1, "maxout": 2})
        self.takes_word = dims[-1] > 0
        self.linear = nn.Linear(sum(dims), self.pieces * feature_dim)

    def forward(self, shown: Tensor, context: Tensor, embedded: Tensor) -> Tensor:
        parts = (shown, context, embedded) if self.takes_word else (shown, context)
        hidden = self.linear(torch.cat(parts, -1))
        if self.pieces == 1:
            return torch.tanh(hidden)
        return hidden.unflatten(-1, (-1, 2)).amax(-1)


def _spread(summary: Tensor, like: Tensor) -> Tensor:
    """The same context (b, a) for every query: (b, q, a)."""
    return summary[:, None].expand(-1, like.shape[1], -1)
