"""The translation model: embeddings, an encoder, a decoder with attention, and the output layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from regard.decoding import Stepped
from regard.errors import ConfigError, InputError
from regard.marks import PAD
from regard.nn.attention import Attention
from regard.nn.decoder import Decoded, Decoder, DecoderState
from regard.nn.output import Output
from regard.nn.rnn import Encoder
from regard.nn.scores import LocationScore, TrainableScore
from regard.nn.transformer import Shape, TransformerDecoder, TransformerEncoder, TransformerState
from regard.nn.windows import PredictedWindow, Window
from regard.training.loss import Loss
from regard.translation.model_config import RNNConfig, TransformerConfig

if TYPE_CHECKING:
    from regard.attention import Attended
    from regard.translation.batches import Batch


class Forced(NamedTuple):
    """What the model thinks of translations that were given."""

    log_probs: Tensor
    """(b, q): of each word and the end; 0 beyond it"""
    weights: Tensor | None
    """(b, q, k): where it looked for each; None without attention"""


class TranslationModel(nn.Module):
    """What training, search and alignment ask of a model; the kinds differ in ``start``, ``advance`` and ``teach``."""

    source_embedding: nn.Embedding
    target_embedding: nn.Embedding
    output: Output
    longest: int | None = None
    """how many words it can write, the end included; None where there is no limit"""

    def start(self, source: Tensor, lengths: Tensor) -> Any:
        """Read the sentences (b, k), ``lengths`` (b,) words each; the state before the first word."""
        raise NotImplementedError

    def advance(self, words: Tensor, state: Any) -> tuple[Tensor, Tensor | None, Any]:
        """The last words (b, w) to the next words' features (b, w, f), where it looked (b, w, k), the next state."""
        raise NotImplementedError

    def teach(self, words: Tensor, state: Any) -> tuple[Tensor, Callable[[], Tensor | None]]:
        """All words, given (b, q): the features (b, q, f) of those that follow, and on call where it looked."""
        raise NotImplementedError

    def forward(self, batch: Batch, *, label_smoothing: float = 0.0) -> Loss:
        """The loss of a batch, summed over the words of its translations."""
        features, _ = self.teach(batch.target[:, :-1], self.start(batch.source, batch.source_lengths))
        features, words = _without_padding(features, batch.target[:, 1:])
        objective, nll = self.output.loss(features, words, label_smoothing=label_smoothing)
        return Loss(objective, nll, len(words))

    def step(self, words: Tensor, state: Any) -> Stepped:
        """One step of a search: the last words of all hypotheses (b, w)."""
        features, weights, state = self.advance(words.to(self.output.weight.device), state)
        logits, totals = self.output.normalized(features)
        return Stepped(logits, weights, state, totals)

    @torch.no_grad()
    def force(self, batch: Batch) -> Forced:
        """The log-probability of each word of the given translations, and where the model looks for it."""
        words = batch.target[:, 1:]
        features, looked = self.teach(batch.target[:, :-1], self.start(batch.source, batch.source_lengths))
        log_probs = self.output.log_probs(features.flatten(0, 1), words.flatten()).view(words.shape)
        return Forced(log_probs.masked_fill(words == PAD, 0), looked())


class RNNModel(TranslationModel):
    """Recurrent encoder and decoder."""

    def __init__(self, config: RNNConfig, source_size: int, target_size: int) -> None:
        super().__init__()
        self.source_embedding, self.target_embedding, self.output = _vocabulary_layers(
            config.embedding, source_size, target_size, config.tie
        )
        self.dropout_embedding = nn.Dropout(config.dropout_embedding)
        self.dropout_annotations = nn.Dropout(config.dropout_annotations)
        self.dropout_output = nn.Dropout(config.dropout_output)
        self.encoder = Encoder(
            config.embedding,
            config.encoder_size,
            cell="lstm" if config.cell == "lstm" else "gru",
            layers=config.encoder_layers,
            bidirectional=config.bidirectional,
            dropout=config.dropout_layers,
        )
        self.decoder = Decoder(
            config.embedding,
            config.annotation_size,
            config.decoder_size,
            config.embedding,
            attention=_attention(config),
            asked_by=config.asked_by,
            cell="lstm" if config.cell == "lstm" else "gru",
            layers=config.decoder_layers,
            input_feeding=config.input_feeding,
            readout=config.readout,
            dropout=config.dropout_layers,
        )

    def start(self, source: Tensor, lengths: Tensor) -> DecoderState:
        encoded = self.encoder(self.dropout_embedding(self.source_embedding(source)), lengths)
        return self.decoder.start(
            self.dropout_annotations(encoded.annotations), encoded.summary, _visible(source, lengths)
        )

    def advance(self, words: Tensor, state: DecoderState) -> tuple[Tensor, Tensor | None, DecoderState]:
        decoded, state = self.decoder.step(self.target_embedding(words), state)
        return decoded.features, decoded.weights, state

    def teach(self, words: Tensor, state: DecoderState) -> tuple[Tensor, Callable[[], Tensor | None]]:
        decoded: Decoded = self.decoder(self.dropout_embedding(self.target_embedding(words)), state)
        return self.dropout_output(decoded.features), lambda: decoded.weights


class TransformerModel(TranslationModel):
    """Transformer encoder and decoder.

    What it shows of where it looked is the mean over the heads of the last layer but one, which follows word
    alignments best (Garg et al. 2019, sec. 4.1).
    """

    def __init__(self, config: TransformerConfig, source_size: int, target_size: int) -> None:
        super().__init__()
        self.source_embedding, self.target_embedding, self.output = _vocabulary_layers(
            config.size, source_size, target_size, config.tie
        )
        shape = Shape(
            config.size,
            config.heads,
            config.feedforward,
            dropout=config.dropout,
            dropout_attention=config.dropout_attention,
            dropout_feedforward=config.dropout_feedforward,
        )
        positions, longest = config.positions, config.max_positions
        self.longest = longest if positions == "learned" else None
        self.encoder = TransformerEncoder(shape, config.layers, positions=positions, max_positions=longest)
        self.decoder = TransformerDecoder(shape, config.layers, positions=positions, max_positions=longest)

    def start(self, source: Tensor, lengths: Tensor) -> TransformerState:
        visible = _visible(source, lengths)
        return self.decoder.start(self.encoder(self.source_embedding(source), visible), visible)

    def advance(self, words: Tensor, state: TransformerState) -> tuple[Tensor, Tensor | None, TransformerState]:
        features, looks, state = self.decoder.step(self.target_embedding(words), state)
        return features, _shown(looks), state

    def teach(self, words: Tensor, state: TransformerState) -> tuple[Tensor, Callable[[], Tensor | None]]:
        features, looks = self.decoder(self.target_embedding(words), state)
        return features, lambda: _shown(looks)

    @torch.no_grad()
    def every_head(self, batch: Batch) -> Tensor:
        """(b, layers, heads, q, k): where each head of each layer looks while the given translations are written."""
        state = self.start(batch.source, batch.source_lengths)
        _, looks = self.decoder(self.target_embedding(batch.target[:, :-1]), state)
        return torch.stack([look.weights for look in looks], 1)


def build_model(
    config: RNNConfig | TransformerConfig,
    source_size: int,
    target_size: int,
    *,
    shared: bool = False,
    generator: torch.Generator | None = None,
) -> TranslationModel:
    """The model a config describes, for vocabularies of these sizes (``shared``: source and target are one).

    The first weights are drawn from ``generator``; the global random state is left as it was.
    """
    if config.tie == "all" and not (shared and source_size == target_size):
        raise ConfigError(
            'model.tie = "all" shares one embedding between source and target: it needs one vocabulary for both '
            '(vocabulary.shared = true). Share the vocabulary, or set model.tie = "output".'
        )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(torch.randint(2**63 - 1, (), generator=generator)))
        kind = RNNModel if isinstance(config, RNNConfig) else TransformerModel
        model: TranslationModel = kind(config, source_size, target_size)  # type: ignore[arg-type]
        for module in model.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
    return model


def _vocabulary_layers(
    width: int, source_size: int, target_size: int, tie: str
) -> tuple[nn.Embedding, nn.Embedding, Output]:
    target = nn.Embedding(target_size, width)
    source = target if tie == "all" else nn.Embedding(source_size, width)
    for embedding in dict.fromkeys((source, target)):  # a set would be drawn in another order each time
        nn.init.normal_(embedding.weight, std=width**-0.5)
    weight = target.weight if tie != "none" else None
    assert weight is None or isinstance(weight, nn.Parameter)
    return source, target, Output(width, target_size, weight=weight)


def _attention(config: RNNConfig) -> Attention | None:
    if config.attention == "none":
        return None
    score: str | TrainableScore = config.attention
    if score == "location":
        score = LocationScore(config.decoder_size, config.annotation_size, max_positions=config.max_positions)
    windows: dict[str, Callable[[], int | Window | None]] = {
        "global": lambda: None,
        "local-m": lambda: config.window,
        "local-p": lambda: PredictedWindow(config.window, config.decoder_size, config.attention_size),
    }
    return Attention(
        config.decoder_size,
        config.annotation_size,
        score=score,
        hidden_dim=config.attention_size,
        normalize=config.normalize,
        window=windows[config.span](),
    )


def _shown(looks: list[Attended]) -> Tensor:
    """(b, q, k)"""
    weights: Tensor = looks[max(0, len(looks) - 2)].weights
    return weights.mean(1)


def _visible(words: Tensor, lengths: Tensor) -> Tensor | None:
    """(b, k), True on words; None where there is no padding to hide."""
    if bool((lengths == words.shape[1]).all()):
        return None
    return torch.arange(words.shape[1], device=words.device) < lengths[:, None]


def _without_padding(features: Tensor, words: Tensor) -> tuple[Tensor, Tensor]:
    """Features (b, q, f) and words (b, q) as rows (n, f) and (n,), of the words alone."""
    features, words = features.flatten(0, 1), words.flatten()
    places = words.nonzero().squeeze(1)
    if len(places) == 0:
        raise InputError("a batch without a single word to predict; leave empty batches out")
    return (features, words) if len(places) == len(words) else (features[places], words[places])
