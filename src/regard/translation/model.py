"""The translation model: embeddings, an encoder, a decoder with attention, and the output layer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from regard.errors import ConfigError
from regard.nn.attention import Attention
from regard.nn.decoder import Decoded, Decoder, DecoderState
from regard.nn.dropout import Dropout
from regard.nn.output import Loss, Output
from regard.nn.rnn import Encoder
from regard.nn.scores import LocationScore, TrainableScore
from regard.nn.transformer import Shape, TransformerDecoder, TransformerEncoder, TransformerState
from regard.nn.windows import PredictedWindow, Window
from regard.normalizers import NORMALIZERS, Normalizer
from regard.shape_types import Float, Int
from regard.text.text_model import TextModel, initialized, output_for
from regard.translation.model_config import RNNConfig, TransformerConfig

if TYPE_CHECKING:
    from regard.attention import Attended
    from regard.translation.batches import Batch


class TranslationModel(TextModel):
    """An encoder and an autoregressive decoder; the kinds differ in ``start``, ``attend`` and ``teacher_forced``."""

    source_embedding: nn.Embedding
    target_embedding: nn.Embedding
    taught: float
    """weight of what links teach the attention"""

    def start(self, source: Tensor, lengths: Tensor) -> Any:
        """Encode the sentences (b, k) of ``lengths`` (b,); the decoder's state before the first token."""
        raise NotImplementedError

    def attend(self, tokens: Tensor, state: Any) -> tuple[Tensor, Sequence[Attended], Any]:
        """One decoder step from the last tokens (b, w): features (b, w, f), the attention of each layer, next state."""
        raise NotImplementedError

    def shown_weights(self, attended: Sequence[Attended]) -> Tensor | None:
        """(b, q, k): the attention weights that are shown, of the layers of a step or of several; None without."""
        raise NotImplementedError

    def forward(self, batch: Batch, *, label_smoothing: float = 0.0) -> Loss:
        """The cross-entropy of a batch, and what its links teach the attention."""
        if not (self.taught and self.training and batch.links is not None):
            return super().forward(batch, label_smoothing=label_smoothing)
        if self.critic is None:
            features, weights = self.teacher_forced(batch.target[:, :-1], self.encode(batch))
            loss = self.loss(features, batch.target[:, 1:], label_smoothing=label_smoothing)
        else:
            loss = super().forward(batch)
            _, weights = self.teacher_forced(batch.target[:, :-1], self.encode(batch))
        return loss._replace(objective=loss.objective + self.taught * link_loss(weights(), batch.links))

    def shown_layer(self, layers: int) -> int:
        """The index of the layer whose weights are shown."""
        return max(0, layers - 2)

    def encode(self, batch: Batch) -> Any:
        return self.start(batch.source, batch.source_lengths)

    def advance(self, tokens: Tensor, state: Any) -> tuple[Tensor, Tensor | None, Any]:
        features, attended, state = self.attend(tokens, state)
        return features, self.shown_weights(attended), state


class RNNModel(TranslationModel):
    """Recurrent encoder and decoder."""

    def __init__(self, config: RNNConfig, source_size: int, target_size: int) -> None:
        super().__init__()
        self.source_embedding, self.target_embedding, self.output = _vocabulary_layers(
            config.embedding, source_size, target_size, config.tie
        )
        self.taught = config.taught
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

    @property
    def normalizer(self) -> Normalizer | None:
        return None if self.decoder.attention is None else self.decoder.attention.normalize

    def start(self, source: Tensor, lengths: Tensor) -> DecoderState:
        encoded = self.encoder(self.dropout_embedding(self.source_embedding(source)), lengths)
        return self.decoder.start(
            self.dropout_annotations(encoded.annotations), encoded.summary, _visible(source, lengths)
        )

    def attend(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, Sequence[Attended], DecoderState]:
        decoded, state = self.decoder.step(self.target_embedding(tokens), state)
        return decoded.features, decoded.attended, state

    def shown_weights(self, attended: Sequence[Attended]) -> Tensor | None:
        return attended[0].weights if attended else None

    def teacher_forced(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, Callable[[], Tensor | None]]:
        decoded: Decoded = self.decoder(self.dropout_embedding(self.target_embedding(tokens)), state)
        return self.dropout_output(decoded.features), lambda: decoded.weights


class TransformerModel(TranslationModel):
    """Transformer encoder and decoder.

    The weights it shows are the mean over the heads of the last layer but one, which follows word alignments best
    (Garg et al. 2019, sec. 4.1). Links teach the first head of that layer (sec. 4.3); where they do, it alone is shown.
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
        self.taught = config.taught
        positions, longest = config.positions, config.max_positions
        self.longest = longest if positions == "learned" else None
        self.encoder = TransformerEncoder(shape, config.layers, positions=positions, max_positions=longest)
        self.decoder = TransformerDecoder(shape, config.layers, positions=positions, max_positions=longest)

    @property
    def normalizer(self) -> Normalizer:
        return NORMALIZERS["softmax"]

    def start(self, source: Tensor, lengths: Tensor) -> TransformerState:
        visible = _visible(source, lengths)
        return self.decoder.start(self.encoder(self.source_embedding(source), visible), visible)

    def attend(self, tokens: Tensor, state: TransformerState) -> tuple[Tensor, Sequence[Attended], TransformerState]:
        return self.decoder.step(self.target_embedding(tokens), state)

    def shown_weights(self, attended: Sequence[Attended]) -> Tensor:
        weights: Tensor = attended[self.shown_layer(len(attended))].weights
        return weights[:, 0] if self.taught else weights.mean(1)

    def teacher_forced(self, tokens: Tensor, state: TransformerState) -> tuple[Tensor, Callable[[], Tensor | None]]:
        features, attended = self.decoder(self.target_embedding(tokens), state)
        return features, lambda: self.shown_weights(attended)


def link_loss(weights: Float[Tensor, "b q k"] | None, links: Int[Tensor, "n 3"]) -> Tensor:
    """-log of the attention's share on the source tokens that a target token belongs to, summed over the linked ones.

    >>> weights = torch.tensor([[[0.5, 0.25, 0.25]]])
    >>> link_loss(weights, torch.tensor([[0, 0, 0], [0, 0, 2]])).exp()  # 1 / (0.5 + 0.25)
    tensor(1.3333)
    """
    assert weights is not None
    row, target, source = links.T
    belongs = torch.zeros(weights.shape, dtype=torch.bool, device=weights.device)
    belongs[row, target, source] = True
    linked = belongs.any(-1)
    share = weights.float()[linked].masked_fill(~belongs[linked], 0).sum(-1)
    return -share.clamp(min=1e-9).log().sum()


def build_model(
    config: RNNConfig | TransformerConfig,
    source_size: int,
    target_size: int,
    *,
    shared: bool = False,
    generator: torch.Generator | None = None,
) -> TranslationModel:
    """The model a config describes, for vocabularies of these sizes (``shared``: source and target are one).

    The weights are initialised from ``generator``; the global random state is left as it was.
    """
    if config.tie == "all" and not (shared and source_size == target_size):
        raise ConfigError(
            'model.tie = "all" shares one embedding between source and target: it needs one vocabulary for both '
            '(vocabulary.shared = true). Share the vocabulary, or set model.tie = "output".'
        )
    kind = RNNModel if isinstance(config, RNNConfig) else TransformerModel
    return initialized(lambda: kind(config, source_size, target_size), generator)  # type: ignore[arg-type]


def _vocabulary_layers(
    width: int, source_size: int, target_size: int, tie: str
) -> tuple[nn.Embedding, nn.Embedding, Output]:
    target = nn.Embedding(target_size, width)
    source = target if tie == "all" else nn.Embedding(source_size, width)
    for embedding in dict.fromkeys((source, target)):  # a set would be initialised in another order each time
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


def _visible(tokens: Tensor, lengths: Tensor) -> Tensor | None:
    """(b, k), True on tokens; None where there is no padding to mask."""
    if bool((lengths == tokens.shape[1]).all()):
        return None
    return torch.arange(tokens.shape[1], device=tokens.device) < lengths[:, None]
