"""The translation model: embeddings, an encoder, a decoder with attention, and the output layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from regard.errors import ConfigError
from regard.nn.attention import Attention
from regard.nn.decoder import Decoded, Decoder, DecoderState
from regard.nn.dropout import Dropout
from regard.nn.output import Output
from regard.nn.rnn import Encoder
from regard.nn.scores import LocationScore, TrainableScore
from regard.nn.transformer import Shape, TransformerDecoder, TransformerEncoder, TransformerState
from regard.nn.windows import PredictedWindow, Window
from regard.nn.writer import Writer, output_for, with_first_weights
from regard.translation.model_config import RNNConfig, TransformerConfig

if TYPE_CHECKING:
    from regard.attention import Attended
    from regard.translation.batches import Batch


class TranslationModel(Writer):
    """A writer that reads a sentence first; the kinds differ in ``start``, ``advance`` and ``teach``."""

    source_embedding: nn.Embedding
    target_embedding: nn.Embedding

    def start(self, source: Tensor, lengths: Tensor) -> Any:
        """Read the sentences (b, k), ``lengths`` (b,) words each; the state before the first word."""
        raise NotImplementedError

    def begin(self, batch: Batch) -> Any:
        return self.start(batch.source, batch.source_lengths)


class RNNModel(TranslationModel):
    """Recurrent encoder and decoder."""

    def __init__(self, config: RNNConfig, source_size: int, target_size: int) -> None:
        super().__init__()
        self.source_embedding, self.target_embedding, self.output = _vocabulary_layers(
            config.embedding, source_size, target_size, config.tie
        )
        self.dropout_embedding = Dropout(config.dropout_embedding)
        self.dropout_annotations = Dropout(config.dropout_annotations)
        self.dropout_output = Dropout(config.dropout_output)
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
    kind = RNNModel if isinstance(config, RNNConfig) else TransformerModel
    return with_first_weights(lambda: kind(config, source_size, target_size), generator)  # type: ignore[arg-type]


def _vocabulary_layers(
    width: int, source_size: int, target_size: int, tie: str
) -> tuple[nn.Embedding, nn.Embedding, Output]:
    target = nn.Embedding(target_size, width)
    source = target if tie == "all" else nn.Embedding(source_size, width)
    for embedding in dict.fromkeys((source, target)):  # a set would be drawn in another order each time
        nn.init.normal_(embedding.weight, std=width**-0.5)
    return source, target, output_for(target, tied=tie != "none")


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
