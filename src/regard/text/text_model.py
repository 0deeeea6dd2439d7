"""Base class of autoregressive text models: what training, search and alignment ask of one, whatever it attends to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from regard.decoding import Stepped
from regard.errors import InputError
from regard.nn.output import Loss, Output
from regard.text.self_critical import Critic, self_critical_loss
from regard.text.special_tokens import BOS, PAD

if TYPE_CHECKING:
    from regard.normalizers import Normalizer

M = TypeVar("M", bound=nn.Module)


class Forced(NamedTuple):
    """A decoding whose tokens were given (teacher forcing)."""

    log_probs: Tensor
    """(b, q): of each token, EOS included; 0 for padding"""
    weights: Tensor | None
    """(b, q, k): attention weights of each token; None without attention"""


class TextModel(nn.Module):
    """An autoregressive text model; the kinds differ in ``encode``, ``advance`` and ``teacher_forced``.

    A batch has ``target`` (b, t): BOS, tokens, EOS, PAD.
    """

    output: Output
    longest: int | None = None
    """the most tokens it can decode, EOS included; None where there is no limit"""
    forbidden: Sequence[int] = (PAD, BOS)
    """ids that are never decoded, however likely"""
    critic: Critic | None = None
    """where there is one, training is self-critical"""

    def encode(self, batch: Any) -> Any:
        """Encode the inputs of a batch; the decoder's state before the first token."""
        raise NotImplementedError

    def advance(self, tokens: Tensor, state: Any) -> tuple[Tensor, Tensor | None, Any]:
        """The last tokens (b, w) to the next ones' features (b, w, f), attention weights (b, w, k) and state."""
        raise NotImplementedError

    def teacher_forced(self, tokens: Tensor, state: Any) -> tuple[Tensor, Callable[[], Tensor | None]]:
        """From given tokens (b, q): the features (b, q, f) of those that follow, and on call the attention weights."""
        raise NotImplementedError

    def forward(self, batch: Any, *, label_smoothing: float = 0.0) -> Loss:
        """The cross-entropy of a batch, summed over the tokens of its texts."""
        if self.critic is not None and self.training:
            return self_critical_loss(self, batch, self.critic)
        features, _ = self.teacher_forced(batch.target[:, :-1], self.encode(batch))
        return self.loss(features, batch.target[:, 1:], label_smoothing=label_smoothing)

    def loss(self, features: Tensor, tokens: Tensor, *, label_smoothing: float = 0.0) -> Loss:
        """The cross-entropy of tokens (b, q) by their features (b, q, f), padding left out."""
        features, tokens = _without_padding(features, tokens)
        objective, nll = self.output.loss(features, tokens, label_smoothing=label_smoothing)
        return Loss(objective, nll, len(tokens))

    def step(self, tokens: Tensor, state: Any) -> Stepped:
        """One step of a search, from the last tokens of all hypotheses (b, w)."""
        return self.stepped(*self.advance(tokens.to(self.output.weight.device), state))

    def stepped(self, features: Tensor, weights: Tensor | None, state: Any) -> Stepped:
        """A step of a search from what ``advance`` gives."""
        logits, totals = self.output.normalized(features)
        return Stepped(logits, weights, state, totals)

    @torch.no_grad()
    def force(self, batch: Any) -> Forced:
        """The log-probability of each token of the given texts, and its attention weights."""
        return self.force_from(self.encode(batch), batch.target)

    @torch.no_grad()
    def force_from(self, state: Any, target: Tensor) -> Forced:
        """The same from a state before the first token, whose attention may have been changed; target (b, t)."""
        features, weights = self.teacher_forced(target[:, :-1], state)
        return Forced(self.log_probs(features, target[:, 1:]), weights())

    @property
    def normalizer(self) -> Normalizer | None:
        """How its attention turns scores into weights; None without attention."""
        raise NotImplementedError

    @torch.no_grad()
    def log_probs(self, features: Tensor, tokens: Tensor) -> Tensor:
        """The log-probabilities (b, q) of tokens (b, q) by their features (b, q, f); 0 for padding."""
        log_probs = self.output.log_probs(features.flatten(0, 1), tokens.flatten()).view(tokens.shape)
        return log_probs.masked_fill(tokens == PAD, 0)


def initialized(make: Callable[[], M], generator: torch.Generator | None) -> M:
    """The model that ``make`` gives, initialised from ``generator``; the global random state is left as it was."""
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
    """The output layer over the tokens of an embedding, with the same matrix where they are ``tied``."""
    weight = embedding.weight if tied else None
    assert weight is None or isinstance(weight, nn.Parameter)
    return Output(embedding.embedding_dim, embedding.num_embeddings, weight=weight)


def _without_padding(features: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
    """Features (b, q, f) and tokens (b, q) as rows (n, f) and (n,), without those of padding."""
    features, tokens = features.flatten(0, 1), tokens.flatten()
    places = tokens.nonzero().squeeze(1)
    if len(places) == 0:
        raise InputError("a batch without a single word to predict; leave empty batches out")
    return (features, tokens) if len(places) == len(tokens) else (features[places], tokens[places])
