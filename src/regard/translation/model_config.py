"""The settings of a translation model: the ``[model]`` of a run file."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from regard.scores import WITHOUT_WEIGHTS
from regard.settings import MOST_LAYERS, MOST_POSITIONS, MOST_WIDTH, Settings, setting
from regard.text.model_config import MOST_DRAWS, Draws, known_score

ASKED_BY_PREVIOUS = frozenset({"additive"})
"""Scores whose query is the previous hidden state, as in Bahdanau et al.; that of all others is the current one."""


Tie = Literal["none", "output", "all"]
TIE = (
    "Share embedding matrices: none; output = the output layer reads with the target embedding; "
    "all = source and target embedding too (needs a shared vocabulary)."
)

SELF_CRITICAL = (
    "Learn from this many translations drawn for each sentence, by which of them share more with the reference (GLEU), "
    "instead of from the reference itself, without dropout and label smoothing; 0 = do not. For a last training that "
    "begins with another."
)
TAUGHT = (
    "Weight of what links (data.train.links) teach the attention: -log of its share on the source words that a target "
    "word belongs to; 0 = it must find out by itself."
)


class RNNConfig(Settings):
    """A recurrent encoder and decoder, with any attention or none."""

    kind: Literal["rnn"] = setting("rnn", "rnn or transformer.")
    cell: Literal["gru", "lstm", "cgru"] = setting(
        "gru", "gru, lstm, or cgru: two GRUs with the attention between them, as in Nematus."
    )
    embedding: int = setting(
        256, "Width of a word's embedding, and of what the output layer reads.", ge=1, le=MOST_WIDTH
    )
    encoder_size: int = setting(256, "Width of the encoder's state, of each direction.", ge=1, le=MOST_WIDTH)
    encoder_layers: int = setting(1, "Encoder layers.", ge=1, le=MOST_LAYERS)
    bidirectional: bool = setting(True, "Read the source from both ends.")
    decoder_size: int = setting(256, "Width of the decoder's state.", ge=1, le=MOST_WIDTH)
    decoder_layers: int = setting(1, "Decoder layers.", ge=1, le=MOST_LAYERS)
    attention: str = setting(
        "additive",
        "none, additive, dot, scaled_dot, cosine, general, concat or location. none = one fixed context; "
        "additive is asked for by the previous state (Bahdanau), the others by the current one (Luong).",
    )
    attention_size: int = setting(256, "Width inside the additive and concat scores and local-p.", ge=1, le=MOST_WIDTH)
    span: Literal["global", "local-m", "local-p"] = setting(
        "global", "Where it may attend: everywhere, around the same position, around a predicted position."
    )
    window: int = setting(10, "Pieces to each side of that position, for local-m and local-p.", ge=1, le=MOST_POSITIONS)
    normalize: Literal["softmax", "hard", "sparsemax"] = setting(
        "softmax", "Scores to weights: softmax, hard = one word at a time, sparsemax = few words."
    )
    max_positions: int = setting(
        512, "Longest source, in pieces, that the location score knows.", ge=1, le=MOST_POSITIONS
    )
    input_feeding: bool = setting(
        False, "Let each step read what the last one found; for attentions asked for by the current state."
    )
    readout: Literal["tanh", "maxout"] = setting("tanh", "Last hidden layer before the output layer.")
    dropout_embedding: float = setting(0.2, "Dropout on embedded words.", ge=0, lt=1)
    dropout_layers: float = setting(0.2, "Dropout between the layers of encoder or decoder.", ge=0, lt=1)
    dropout_annotations: float = setting(0.0, "Dropout on what the encoder hands over.", ge=0, lt=1)
    dropout_output: float = setting(0.2, "Dropout on what the output layer reads.", ge=0, lt=1)
    tie: Tie = setting("output", TIE)
    taught: float = setting(0.0, TAUGHT, ge=0, le=1000)
    self_critical: Draws = setting(0, SELF_CRITICAL, ge=0, le=MOST_DRAWS)

    @property
    def annotation_size(self) -> int:
        """Width of the encoder's annotations."""
        return self.encoder_size * (2 if self.bidirectional else 1)

    @property
    def asked_by(self) -> str:
        """Which hidden state of the decoder is the query."""
        if self.cell == "cgru":
            return "between"
        return "previous" if self.attention in ASKED_BY_PREVIOUS or self.attention == "none" else "current"

    @property
    def places(self) -> tuple[int | None, int | None]:
        """Most tokens, EOS included, of a source and of a target; None = any number."""
        return self.max_positions if self.attention == "location" else None, None

    @field_validator("attention")
    @classmethod
    def _known(cls, name: str) -> str:
        return known_score("attention", name, "none")

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        for wrong, advice in self._contradictions():
            if wrong:
                raise ValueError(advice)
        return self

    def _contradictions(self) -> list[tuple[bool, str]]:
        none = self.attention == "none"
        alike = self.attention in WITHOUT_WEIGHTS and self.decoder_size != self.annotation_size
        return [
            (
                none and (self.span != "global" or self.normalize != "softmax" or self.cell == "cgru"),
                'attention = "none" has no weights: it goes with span = "global", normalize = "softmax" and the cells '
                f"gru and lstm; got span = {self.span!r}, normalize = {self.normalize!r}, cell = {self.cell!r}",
            ),
            (
                self.input_feeding and self.asked_by != "current",
                "input_feeding passes on what the current state found: it needs the cell gru or lstm, and an attention "
                f"that the current state asks for, such as general; got cell = {self.cell!r}, "
                f"attention = {self.attention!r}",
            ),
            (
                alike,
                f"attention = {self.attention!r} compares the decoder's state with the encoder's annotations directly: "
                f"decoder_size = {self.decoder_size} must equal their width, {self.annotation_size} "
                "(encoder_size x directions). Change one of them, or use general",
            ),
            (
                none and self.taught > 0,
                f'attention = "none" cannot be taught where to look; got taught = {self.taught}. Set it to 0',
            ),
            (
                self.cell == "cgru" and self.decoder_layers > 1,
                f'cell = "cgru" is one layer deep; got decoder_layers = {self.decoder_layers}',
            ),
        ]


class TransformerConfig(Settings):
    """A Transformer with the normalisation before each sub-layer."""

    kind: Literal["transformer"] = setting("transformer", "rnn or transformer.")
    layers: int = setting(4, "Layers of the encoder, and of the decoder.", ge=1, le=MOST_LAYERS)
    size: int = setting(256, "Width of the model.", ge=1, le=MOST_WIDTH)
    feedforward: int = setting(1024, "Width inside the feed-forward layers.", ge=1, le=MOST_WIDTH)
    heads: int = setting(4, "Attention heads.", ge=1, le=1024)
    positions: Literal["sinusoidal", "learned", "rotary"] = setting("sinusoidal", "How it knows the order.")
    max_positions: int = setting(
        1024, "Longest sentence, in pieces, that learned positions know.", ge=1, le=MOST_POSITIONS
    )
    dropout: float = setting(0.1, "Dropout on embeddings and on what each sub-layer adds.", ge=0, lt=1)
    dropout_attention: float = setting(0.0, "Dropout on attention weights.", ge=0, lt=1)
    dropout_feedforward: float = setting(0.0, "Dropout inside the feed-forward layers.", ge=0, lt=1)
    tie: Tie = setting("output", TIE)
    taught: float = setting(0.0, f"{TAUGHT} One head is taught, and shown.", ge=0, le=1000)
    self_critical: Draws = setting(0, SELF_CRITICAL, ge=0, le=MOST_DRAWS)

    @property
    def places(self) -> tuple[int | None, int | None]:
        """Most tokens, EOS included, of a source and of a target; None = any number."""
        most = self.max_positions if self.positions == "learned" else None
        return most, most

    @model_validator(mode="after")
    def _heads_divide(self) -> Self:
        if self.size % self.heads:
            raise ValueError(f"size = {self.size} does not divide into heads = {self.heads} of equal width")
        if self.positions == "rotary" and self.size // self.heads % 2:
            raise ValueError(
                'positions = "rotary" turns pairs: the width of a head must be even, '
                f"size / heads = {self.size // self.heads}"
            )
        return self


ModelConfig = Annotated[RNNConfig | TransformerConfig, Field(discriminator="kind")]
