"""The captioner's model: a decoder with attention over a grid of features (Xu et al. 2015)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from regard.captioning.model_config import CaptionModelConfig
from regard.captioning.mosaic import QUARTERS, WHOLE, overlap
from regard.nn.attention import Attention
from regard.nn.decoder import Decoded, Decoder, DecoderState
from regard.nn.dropout import Dropout
from regard.nn.output import Loss
from regard.nn.reinforce import Drawn, Reinforce
from regard.nn.scores import LocationScore, TrainableScore
from regard.text.self_critical import Critic, self_critical_loss
from regard.text.special_tokens import BOS, PAD, UNK
from regard.text.text_model import TextModel, initialized, output_for

if TYPE_CHECKING:
    from regard.captioning.backbones import Backbone
    from regard.captioning.batches import CaptionBatch, Lesson
    from regard.normalizers import Normalizer


class Grid(NamedTuple):
    """The shape of a picture's features: rows x columns cells, each with ``width`` features."""

    rows: int
    columns: int
    width: int

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return self.rows * self.columns


class CaptionModel(TextModel):
    """A decoder with attention over the cells of a picture; ``cnn`` makes them from pixels, where it is to be trained.

    Pictures come as the features of their cells (b, cells, width), row by row; with a ``cnn`` as what it takes, and it
    gives (b, rows, columns, width).
    """

    forbidden = (
        PAD,
        BOS,
        UNK,
    )  # references hold words outside the vocabulary; captions of the model need not

    quarters: Tensor

    def __init__(self, config: CaptionModelConfig, grid: Grid, vocabulary: int, cnn: nn.Module | None = None) -> None:
        super().__init__()
        self.config, self.grid, self.cnn = config, grid, cnn
        width = config.annotation_size
        self.annotate = nn.Linear(grid.width, width)
        self.even = nn.LayerNorm(width)
        self.places = nn.Parameter(torch.zeros(grid.cells, width)) if config.places else None
        self.embedding = nn.Embedding(vocabulary, config.embedding)
        nn.init.normal_(self.embedding.weight, std=config.embedding**-0.5)
        self.output = output_for(self.embedding, tied=config.tie)
        self.dropout_annotations = Dropout(config.dropout_annotations)
        self.dropout_embedding = Dropout(config.dropout_embedding)
        self.dropout_output = Dropout(config.dropout_output)
        self.decoder = Decoder(
            config.embedding,
            width,
            config.decoder_size,
            config.embedding,
            attention=_attention(config, grid),
            asked_by=config.asked_by,
            cell=config.cell,
            layers=config.decoder_layers,
            input_feeding=config.input_feeding,
            gate=config.gate,
            readout=config.readout,
            dropout=config.dropout_layers,
            predict_first=config.first_state == "mean",
        )
        quarters = np.stack([overlap(place, grid.rows, grid.columns) for place in range(QUARTERS)])  # of each cell
        self.register_buffer("quarters", torch.from_numpy(quarters).float().flatten(1), persistent=False)
        self.reinforce = (
            Reinforce(
                weight=config.reinforce_weight,
                entropy=config.entropy_weight,
                start=-float(torch.log(torch.tensor(float(vocabulary)))),  # log-probability of a token before training
            )
            if config.draws
            else None
        )

    @property
    def normalizer(self) -> Normalizer:
        assert self.decoder.attention is not None
        return self.decoder.attention.normalize

    def start(self, pictures: Tensor, normalize: Normalizer | None = None) -> DecoderState:
        """The annotations of pictures (b, ...), and the first hidden state, predicted from their mean or zero."""
        cells = pictures if self.cnn is None else self.cnn(pictures).flatten(1, 2)
        annotations = self.even(self.annotate(cells.to(self.annotate.weight.dtype)))
        if self.places is not None:
            annotations = annotations + self.places
        annotations = self.dropout_annotations(annotations)
        return self.decoder.start(annotations, annotations.mean(1), normalize=normalize)

    def encode(self, batch: CaptionBatch) -> DecoderState:
        return self.start(batch.pictures)

    def advance(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, Tensor | None, DecoderState]:
        decoded, state = self.decoder.step(self.embedding(tokens), state)
        return decoded.features, decoded.weights, state

    def teacher_forced(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, Callable[[], Tensor | None]]:
        decoded = self._decode(tokens, state)
        return decoded.features, lambda: decoded.weights

    def forward(self, batch: CaptionBatch, *, label_smoothing: float = 0.0) -> Loss:
        """The cross-entropy of a batch, with the terms that train the attention."""
        if self.critic is not None and self.training:
            return self._self_critical(batch, self.critic)
        given, tokens = batch.target[:, :-1], batch.target[:, 1:]
        drawn, normalize = None, None
        if self.reinforce is not None and self.training:
            generator = _dropout_generator(tokens.device)
            expected = torch.rand(len(tokens), generator=generator, device=tokens.device) < self.config.expected_share
            drawn, normalize = ~expected, Drawn(generator, expected)
        decoded = self._decode(given, self.start(batch.pictures, normalize))
        loss = self.loss(decoded.features, tokens, label_smoothing=label_smoothing)
        objective = loss.objective
        written = tokens != PAD
        if self.config.doubly_stochastic and self.training:
            objective = objective + self.config.doubly_stochastic * _doubly_stochastic(decoded, written)
        if self.reinforce is not None and drawn is not None:
            log_probs = self.log_probs(decoded.features, tokens)
            objective = objective + self.reinforce(decoded.scores, decoded.weights, log_probs, drawn, written)
        if batch.lesson is not None and self.training:
            objective = objective + self._taught(decoded, batch.lesson)
        return loss._replace(objective=objective)

    def _self_critical(self, batch: CaptionBatch, critic: Critic) -> Loss:
        """The policy-gradient loss, which washes attention out, and what mosaics teach it by the captions of people."""
        loss = self_critical_loss(self, batch, critic)
        if batch.lesson is None:
            return loss
        decoded = self._decode(batch.target[:, :-1], self.start(batch.pictures))
        return loss._replace(objective=loss.objective + self._taught(decoded, batch.lesson))

    def _taught(self, decoded: Decoded, lesson: Lesson) -> Tensor:
        """-log of the attention's share in the described quarter, summed over the words that are taught, weighted.

        Of the softmax of the scores, so that attention to one cell is taught too.
        """
        scores = decoded.scores
        assert scores is not None
        taught = lesson.content & (lesson.quarter != WHOLE)[:, None]
        right = self.quarters[lesson.quarter.clamp(min=0)][:, None].expand_as(scores)
        return -self.config.taught * torch.logsumexp(scores[taught].log_softmax(-1) + right[taught].log(), -1).sum()

    def _decode(self, tokens: Tensor, state: DecoderState) -> Decoded:
        decoded: Decoded = self.decoder(self.dropout_embedding(self.embedding(tokens)), state)
        return decoded._replace(features=self.dropout_output(decoded.features))


def build_model(
    config: CaptionModelConfig,
    grid: Grid,
    vocabulary: int,
    *,
    cnn: nn.Module | None = None,
    generator: torch.Generator | None = None,
) -> CaptionModel:
    """The model a config describes, for pictures of that grid and a vocabulary of that size.

    It is initialised from ``generator`` (a ``cnn`` has its own weights); the global random state is left as it was.
    """
    return initialized(lambda: CaptionModel(config, grid, vocabulary, cnn), generator)


def model_for(
    config: CaptionModelConfig, backbone: Backbone, vocabulary: int, generator: torch.Generator
) -> CaptionModel:
    """The model for the grid of a backbone, which is part of the model where it is trained with it."""
    grid = Grid(backbone.rows, backbone.columns, backbone.dim)
    cnn = backbone if backbone.trainable else None
    assert cnn is None or isinstance(cnn, nn.Module)
    return build_model(config, grid, vocabulary, cnn=cnn, generator=generator)


def _attention(config: CaptionModelConfig, grid: Grid) -> Attention:
    score: str | TrainableScore = config.score
    if score == "location":
        score = LocationScore(config.decoder_size, config.annotation_size, max_positions=grid.cells)
    normalize = {"soft": "softmax", "hard": "hard", "sparsemax": "sparsemax"}[config.attention]
    return Attention(
        config.decoder_size,
        config.annotation_size,
        score=score,
        hidden_dim=config.attention_size,
        normalize=normalize,
    )


def _doubly_stochastic(decoded: Decoded, written: Tensor) -> Tensor:
    """The doubly stochastic regulariser: the squares of eq. 14, summed over cells and captions."""
    weights = decoded.weights
    assert weights is not None
    seen = (weights * written[..., None]).sum(1)
    return (1 - seen).square().sum()


def _dropout_generator(device: torch.device) -> Any:
    """The random state that dropout draws from, which training keeps with its checkpoints."""
    if device.type == "cuda":
        return torch.cuda.default_generators[device.index or 0]
    return torch.default_generator
