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

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from regard.errors import ConfigError, choose
from regard.kernels import dispatch
from regard.nn.additive_attention import FusedAdditiveAttention
from regard.nn.cells import CELLS, Cell, State
from regard.nn.dropout import Dropout
from regard.nn.loop_gradients import DeferredLinear
from regard.shape_types import Bool, Float, Int

if TYPE_CHECKING:
    from regard.attention import Attended
    from regard.nn.attention import Attention
    from regard.normalizers import Normalizer

ASKED_BY = ("previous", "between", "current")


class Memory(NamedTuple):
    """What the decoder attends to, with the part that is the same at every step already computed."""

    annotations: Float[Tensor, "b k v"]
    summary: Float[Tensor, "b v"]
    visible: Bool[Tensor, "b 1 k"] | None
    """True where the decoder may look"""
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
    normalize: Normalizer | None = None
    """how this decoding turns scores into weights, where it is not as the attention does by itself"""

    def reorder(self, hypotheses: Int[Tensor, "b w"]) -> DecoderState:
        """The state with hypothesis ``hypotheses[i, j]`` of sentence i in place j; (b, w') of int64."""
        pick = hypotheses.to(self.hidden[0].device)[..., None]
        hidden = tuple(part.gather(1, pick.expand(-1, -1, part.shape[-1])) for part in self.hidden)
        feed = None if self.feed is None else self.feed.gather(1, pick.expand(-1, -1, self.feed.shape[-1]))
        return replace(self, hidden=hidden, feed=feed)

    def keep(self, sentences: Int[Tensor, " n"]) -> DecoderState:
        """The state of these sentences only; (b',) of int64."""
        sentences = sentences.to(self.hidden[0].device)

        def kept(tensor: Tensor) -> Tensor:
            return tensor.index_select(0, sentences)  # tensor[sentences] adds gradients in any order

        annotations, summary, visible, ready = self.memory
        memory = Memory(kept(annotations), kept(summary), None if visible is None else kept(visible), kept(ready))
        feed = None if self.feed is None else kept(self.feed)
        return replace(self, memory=memory, hidden=tuple(map(kept, self.hidden)), feed=feed)

    def hide(self, hidden: Tensor) -> DecoderState:
        """The state whose attention may not see the annotations that are ``hidden``, (b, k)."""
        visible = ~hidden[:, None]
        if self.memory.visible is not None:
            visible = visible & self.memory.visible
        return replace(self, memory=self.memory._replace(visible=visible))

    def normalized_by(self, normalize: Normalizer | None) -> DecoderState:
        """The state whose attention turns scores into weights by ``normalize``; None = as it does by itself."""
        return replace(self, normalize=normalize)


class Decoded(NamedTuple):
    """Every step of a decoding whose words were given."""

    features: Tensor
    """(b, q, f): what the output layer reads"""
    attended: tuple[Attended, ...]
    """the attention over the memory, of one step or of several each; empty without attention"""

    @property
    def weights(self) -> Float[Tensor, "b q k"] | None:
        """(b, q, k): the attention weights of each step; computed when they are asked for."""
        return torch.cat([part.weights for part in self.attended], 1) if self.attended else None

    @property
    def scores(self) -> Float[Tensor, "b q k"] | None:
        """(b, q, k): the weights before they were normalised."""
        return torch.cat([part.scores for part in self.attended], 1) if self.attended else None


class _Step(NamedTuple):
    hidden: State
    context: Tensor
    attended: tuple[Attended, ...]


class _Layers(NamedTuple):
    """What a step calls: the layers themselves, or stand-ins for the steps of one loop."""

    cells: list[Callable[[Tensor, State], State]]
    from_context: Any
    from_feed: Any
    readout: Callable[[Tensor], Tensor]
    attend: Callable[[Tensor, DecoderState], tuple[Tensor, Attended]]


class Decoder(nn.Module):
    """A recurrent decoder that takes a context at every step.

    ``attention=None`` gives it the encoder's summary each time. ``asked_by`` says which state scores the annotations
    (the table above). ``input_feeding`` lets the next step read this step's features (Luong et al. 2015, sec. 3.3),
    ``gate`` lets the decoder weigh the whole context (Xu et al. 2015, sec. 4.2.1). Without ``predict_first`` the first
    state is zero, whatever the summary: the decoder then knows of the input only what it attends to.
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
        predict_first: bool = True,
    ) -> None:
        super().__init__()
        kind = choose("cell", cell, CELLS)
        self.attention = attention
        self.asked_by = choose("asking state", asked_by, dict(zip(ASKED_BY, ASKED_BY, strict=True)))
        _check_asking(self.asked_by, attends=attention is not None, layers=layers, input_feeding=input_feeding)
        width = kind.gates * hidden_dim
        self.from_embedding = nn.Linear(embedding_dim, width)
        into_state = attention is None or self.asked_by != "current"
        self.from_context = nn.Linear(annotation_dim, width, bias=False) if into_state else None
        self.from_feed = nn.Linear(feature_dim, width, bias=False) if input_feeding else None
        self.cells = nn.ModuleList(kind(hidden_dim) for _ in range(2 if self.asked_by == "between" else layers))
        self.between = nn.ModuleList(nn.Linear(hidden_dim, width) for _ in range(layers - 1))
        self.dropout = Dropout(dropout)
        self.first = nn.Linear(annotation_dim, layers * kind.parts * hidden_dim) if predict_first else None
        self.gate = nn.Linear(hidden_dim, 1) if gate else None
        self.readout = Readout(
            (hidden_dim, annotation_dim, 0 if self.asked_by == "current" and attention else embedding_dim),
            feature_dim,
            activation=readout,
        )

    def start(
        self,
        annotations: Float[Tensor, "b k v"],
        summary: Float[Tensor, "b v"],
        visible: Bool[Tensor, "b k"] | None = None,
        *,
        normalize: Normalizer | None = None,
    ) -> DecoderState:
        """Annotations (b, k, a), summary (b, a), visible (b, k): before the first word, one hypothesis a sentence.

        The first state is predicted from the summary (Bahdanau et al. 2015, app. A.2.2; for an LSTM's cell too, as in
        Xu et al. 2015, sec. 3.1.2).
        """
        annotations = annotations.contiguous()
        if self.attention is not None:
            ready = self.attention.project(annotations)
        elif self.from_context is not None:
            ready = self.from_context(summary[:, None])
        memory = Memory(annotations, summary, None if visible is None else visible[:, None], ready)
        feed = annotations.new_zeros(len(annotations), 1, self.readout.feature_dim) if self.from_feed else None
        return DecoderState(memory, self._first_state(summary), feed, time=0, normalize=normalize)

    def _first_state(self, summary: Float[Tensor, "b v"]) -> State:
        dim, parts = self._cell(0).dim, self._cell(0).parts
        if self.first is None:
            layers = len(self.between) + 1
            return tuple(summary.new_zeros(len(summary), 1, dim) for _ in range(layers * parts))
        first: Tensor = torch.tanh(self.first(summary))[:, None]
        return first.split(dim, -1)  # type: ignore[no-untyped-call,no-any-return]

    def step(self, embedded: Float[Tensor, "b w e"], state: DecoderState) -> tuple[Decoded, DecoderState]:
        """The last words of all hypotheses (b, w, e); the hypotheses are the queries of what comes back."""
        taken = self._step(self.from_embedding(embedded), state, self._plain_layers())
        features = self.readout(self._top(taken.hidden), taken.context, embedded)
        feed = features if self.from_feed else None
        return Decoded(features, taken.attended), replace(state, hidden=taken.hidden, feed=feed, time=state.time + 1)

    def forward(self, embedded: Float[Tensor, "b q e"], state: DecoderState) -> Decoded:
        """All words at once, given (b, q, e): the same as ``step`` by step, faster."""
        # Time first: each step then reads one block of memory.
        products = self.from_embedding(embedded.transpose(0, 1).contiguous())
        if self.attention is None:
            shown = self._over_time(products + state.memory.ready.transpose(0, 1), state)
            return Decoded(self.readout(shown, _spread(state.memory.summary, shown), embedded), ())
        if self.asked_by == "current" and self.from_feed is None:
            shown = self._over_time(products, state)
            context, attended = self._attend(shown, state, steps=True)
            return Decoded(self.readout(shown, context, embedded), (attended,))
        return self._one_by_one(embedded, products, state)

    def _one_by_one(
        self, embedded: Float[Tensor, "b q e"], products: Float[Tensor, "q b gates_d"], state: DecoderState
    ) -> Decoded:
        learning = torch.is_grad_enabled() and dispatch.defers_gradients()
        layers = self._layers_of_a_loop(state) if learning else self._plain_layers()
        taken, fed = [], []
        for product in products:
            step = self._step(product[:, None], state, layers)
            taken.append(step)
            if self.from_feed is not None:
                both = torch.cat([self._top(step.hidden), step.context], -1)
                fed.append(self.readout.activate(layers.readout(both)))
            state = replace(state, hidden=step.hidden, feed=fed[-1] if fed else None, time=state.time + 1)
        attended = tuple(part for step in taken for part in step.attended)
        if fed:
            return Decoded(torch.cat(fed, 1), attended)
        shown = torch.cat([self._top(step.hidden) for step in taken], 1)
        return Decoded(self.readout(shown, torch.cat([step.context for step in taken], 1), embedded), attended)

    def _step(self, product: Float[Tensor, "b w gates_d"], state: DecoderState, layers: _Layers) -> _Step:
        """One step, from the products of the words (b, w, gates * d)."""
        memory, hidden = state.memory, state.hidden
        if self.attention is None:
            return _Step(self._ascend(product + memory.ready, hidden, layers), _spread(memory.summary, product), ())
        if self.asked_by == "previous":
            context, attended = layers.attend(self._top(hidden), state)
            hidden = self._ascend(product + layers.from_context(context), hidden, layers)
        elif self.asked_by == "between":
            middle = layers.cells[0](product, hidden)
            context, attended = layers.attend(middle[0], state)
            hidden = layers.cells[1](layers.from_context(context), middle)
        else:
            if state.feed is not None:
                product = product + layers.from_feed(state.feed)
            hidden = self._ascend(product, hidden, layers)
            context, attended = layers.attend(self._top(hidden), state)
        return _Step(hidden, context, (attended,))

    def _plain_layers(self) -> _Layers:
        return _Layers(
            [self._cell(number).step for number in range(len(self.cells))],
            self.from_context,
            self.from_feed,
            self.readout.linear,
            self._attend,
        )

    def _layers_of_a_loop(self, state: DecoderState) -> _Layers:
        """The same, with the gradients of what every step uses made once, after the loop."""
        memory = state.memory
        attend: Callable[[Tensor, DecoderState], tuple[Tensor, Attended]] = self._attend
        assert self.attention is not None
        usual = state.normalize is None
        if usual and FusedAdditiveAttention.can_replace(self.attention, memory.annotations, memory.ready):
            fused = FusedAdditiveAttention(self.attention, memory.annotations, memory.ready, memory.visible)

            def attend_fused(query: Tensor, state: DecoderState) -> tuple[Tensor, Attended]:  # noqa: ARG001 - has its memory
                return self._gated(query, fused(query))

            attend = attend_fused
        return _Layers(
            [self._cell(number).series() for number in range(len(self.cells))],
            None if self.from_context is None else DeferredLinear(self.from_context.weight, self.from_context.bias),
            None if self.from_feed is None else DeferredLinear(self.from_feed.weight, self.from_feed.bias),
            DeferredLinear(self.readout.linear.weight, self.readout.linear.bias),
            attend,
        )

    def _attend(
        self, query: Float[Tensor, "b q d"], state: DecoderState, *, steps: bool = False
    ) -> tuple[Float[Tensor, "b q v"], Attended]:
        """The context of each query (b, q, d), and the attention it comes from.

        The queries are hypotheses at one step, or one hypothesis at all ``steps``.
        """
        assert self.attention is not None
        annotations, _, visible, ready = state.memory
        place = state.time if steps else torch.full((query.shape[1],), state.time, device=query.device)
        attended = self.attention(
            query, annotations, visible=visible, projected=ready, position=place, normalize=state.normalize
        )
        return self._gated(query, attended)

    def _gated(self, query: Float[Tensor, "b q d"], attended: Attended) -> tuple[Float[Tensor, "b q v"], Attended]:
        context: Tensor = attended.context
        return (context if self.gate is None else torch.sigmoid(self.gate(query)) * context), attended

    def _ascend(self, product: Tensor, hidden: State, layers: _Layers) -> State:
        """The new states of all layers; product is the lowest one's input."""
        new: list[Tensor] = []
        parts = self._cell(0).parts
        for layer, cell in enumerate(layers.cells):
            if layer:
                product = self.between[layer - 1](self.dropout(new[-parts]))
            new += cell(product, hidden[layer * parts : (layer + 1) * parts])
        return tuple(new)

    def _over_time(self, products: Float[Tensor, "q b gates_d"], state: DecoderState) -> Float[Tensor, "b q d"]:
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

    def forward(
        self, shown: Float[Tensor, "b q d"], context: Float[Tensor, "b q v"], embedded: Float[Tensor, "b q e"]
    ) -> Float[Tensor, "b q f"]:
        parts = (shown, context, embedded) if self.takes_word else (shown, context)
        return self.activate(self.linear(torch.cat(parts, -1)))

    def activate(self, hidden: Tensor) -> Tensor:
        """The features from what the linear layer gave."""
        if self.pieces == 1:
            return torch.tanh(hidden)
        return torch.maximum(*hidden.chunk(2, -1))


def _spread(summary: Float[Tensor, "b v"], like: Float[Tensor, "b q d"]) -> Float[Tensor, "b q v"]:
    """The same context (b, a) for every query: (b, q, a)."""
    return summary[:, None].expand(-1, like.shape[1], -1)


def _check_asking(asked_by: str, *, attends: bool, layers: int, input_feeding: bool) -> None:
    """Refuse what a decoder whose attention is asked by that state cannot have."""
    if asked_by == "between" and layers > 1:
        raise ConfigError(f"the conditional cell is one layer deep, not {layers}; set decoder_layers = 1")
    if asked_by == "between" and not attends:
        raise ConfigError("the conditional cell has its attention between two states, and needs one")
    if input_feeding and (not attends or asked_by != "current"):
        raise ConfigError(
            "input feeding gives the next step what the current state's attention found; "
            "it needs an attention that the current state asks for, such as dot, general or concat"
        )
