"""What writes word by word: what training, search and alignment ask of a model, whatever it looks at meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from regard.decoding import Stepped
from regard.errors import InputError
from regard.marks import BOS, PAD
from regard.nn.loss import Loss
from regard.nn.output import Output
from regard.nn.self_critical import Critic, self_critical_loss

M = TypeVar("M", bound=nn.Module)


class Forced(NamedTuple):
    """What the model thinks of texts that were given."""

    log_probs: Tensor
    """(b, q): of each word and the end; 0 beyond it"""
    weights: Tensor | None
    """(b, q, k): where it looked for each; None without attention"""


class Writer(nn.Module):
    """A model that writes; the kinds differ in ``begin``, ``advance`` and ``teach``.

    A batch has ``target`` (b, t): begin mark, words, end mark, padding.
    """

    output: Output
    longest: int | None = None
    """how many words it can write, the end included; None where there is no limit"""
    never: Sequence[int] = (PAD, BOS)
    """what it does not write, however likely"""
    critic: Critic | None = None
    """with one, training is self-critical"""

    def begin(self, batch: Any) -> Any:
        """Take in what is written about; the state before the first word."""
        raise NotImplementedError

    def advance(self, words: Tensor, state: Any) -> tuple[Tensor, Tensor | None, Any]:
        """The last words (b, w) to the next words' features (b, w, f), where it looked (b, w, k), the next state."""
        raise NotImplementedError

    def teach(self, words: Tensor, state: Any) -> tuple[Tensor, Callable[[], Tensor | None]]:
        """All words, given (b, q): the features (b, q, f) of those that follow, and on call where it looked."""
        raise NotImplementedError

    def forward(self, batch: Any, *, label_smoothing: float = 0.0) -> Loss:
        """The loss of a batch, summed over the words of its texts."""
        if self.critic is not None and self.training:
            return self_critical_loss(self, batch, self.critic)
        features, _ = self.teach(batch.target[:, :-1], self.begin(batch))
        return self.loss(features, batch.target[:, 1:], label_smoothing=label_smoothing)

    def loss(self, features: Tensor, words: Tensor, *, label_smoothing: float = 0.0) -> Loss:
        """Features (b, q, f) of the words (b, q): the loss of the words, padding left out."""
        features, words = _without_padding(features, words)
        objective, nll = self.output.loss(features, words, label_smoothing=label_smoothing)
        return Loss(objective, nll, len(words))

    def step(self, words: Tensor, state: Any) -> Stepped:
        """One step of a search: the last words of all hypotheses (b, w)."""
        features, weights, state = self.advance(words.to(self.output.weight.device), state)
        logits, totals = self.output.normalized(features)
        return Stepped(logits, weights, state, totals)

    @torch.no_grad()
    def force(self, batch: Any) -> Forced:
        """The log-probability of each word of the given texts, and where the model looks for it."""
        features, looked = self.teach(batch.target[:, :-1], self.begin(batch))
        return Forced(self.log_probs(features, batch.target[:, 1:]), looked())

    @torch.no_grad()
    def log_probs(self, features: Tensor, words: Tensor) -> Tensor:
        """Features (b, q, f) of the words (b, q): the log-probability of each, (b, q); 0 of padding."""
        log_probs = self.output.log_probs(features.flatten(0, 1), words.flatten()).view(words.shape)
        return log_probs.masked_fill(words == PAD, 0)


def with_first_weights(make: Callable[[], M], generator: torch.Generator | None) -> M:
    """The model that ``make`` gives, its first weights drawn from ``generator``; the global random state is kept."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(torch.randint(2**63 - 1, (), generator=generator)))
        model = make()
        for module in model.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
    return model


def output_for(embedding: nn.Embedding, *, tied: bool) -> Output:
    """The output layer beside an embedding, which reads with the same matrix where they are ``tied``."""
    weight = embedding.weight if tied else None
    assert weight is None or isinstance(weight, nn.Parameter)
    return Output(embedding.embedding_dim, embedding.num_embeddings, weight=weight)


def _without_padding(features: Tensor, words: Tensor) -> tuple[Tensor, Tensor]:
    """Features (b, q, f) and words (b, q) as rows (n, f) and (n,), of the words alone."""
    features, words = features.flatten(0, 1), words.flatten()
    places = words.nonzero().squeeze(1)
    if len(places) == 0:
        raise InputError("a batch without a single word to predict; leave empty batches out")
    return (features, words) if len(places) == len(words) else (features[places], words[places])
