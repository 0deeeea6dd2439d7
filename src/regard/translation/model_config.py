"""What a translation model is made of, as a config file's ``[model]`` says it."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from regard.errors import did_you_mean
from regard.scores import WITHOUT_WEIGHTS

ASKED_BY_PREVIOUS = frozenset({"additive"})
"""Attentions asked for by the state before the word, as Bahdanau et al. did; all others by the state after it."""


class Settings(BaseModel):
    """A table of a config file."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, validate_default=True)


Tie = Literal["none", "output", "all"]
TIE = (
    "Share embedding matrices: none; output = the output layer reads with the target embedding; "
    "all = source and target embedding too (needs a shared vocabulary)."
)


class RNNConfig(Settings):
    """A recurrent encoder and decoder, with any attention or none."""

    kind: Literal["rnn"] = Field("rnn", description="rnn or transformer.")
    cell: Literal["gru", "lstm", "cgru"] = Field(
        "gru", description="gru, lstm, or cgru: two GRUs with the attention between them, as in Nematus."
    )
    embedding: int = Field(256, ge=1, description="Width of a word's embedding, and of what the output layer reads.")
    encoder_size: int = Field(256, ge=1, description="Width of the encoder's state, of each direction.")
    encoder_layers: int = Field(1, ge=1, description="Encoder layers.")
    bidirectional: bool = Field(True, description="Read the source from both ends.")
    decoder_size: int = Field(256, ge=1, description="Width of the decoder's state.")
    decoder_layers: int = Field(1, ge=1, description="Decoder layers.")
    attention: str = Field(
        "additive",
        description="none, additive, dot, scaled_dot, cosine, general, concat or location. none = one fixed context; "
        "additive is asked for by the previous state (Bahdanau), the others by the current one (Luong).",
    )
    attention_size: int = Field(256, ge=1, description="Width inside the additive and concat scores and local-p.")
    span: Literal["global", "local-m", "local-p"] = Field(
        "global", description="Where it may look: everywhere, around the same place, around a predicted place."
    )
    window: int = Field(10, ge=0, description="Words to each side of that place, for local-m and local-p.")
    normalize: Literal["softmax", "hard", "sparsemax"] = Field(
        "softmax", description="Scores to weights: softmax, hard = one word at a time, sparsemax = few words."
    )
    max_positions: int = Field(512, ge=1, description="Longest source, in pieces, that the location score knows.")
    input_feeding: bool = Field(
        False, description="Let each step read what the last one found; for attentions asked for by the current state."
    )
    readout: Literal["tanh", "maxout"] = Field("tanh", description="Last hidden layer before the output layer.")
    dropout_embedding: float = Field(0.2, ge=0, lt=1, description="Dropout on embedded words.")
    dropout_layers: float = Field(0.2, ge=0, lt=1, description="Dropout between the layers of encoder or decoder.")
    dropout_annotations: float = Field(0.0, ge=0, lt=1, description="Dropout on what the encoder hands over.")
    dropout_output: float = Field(0.2, ge=0, lt=1, description="Dropout on what the output layer reads.")
    tie: Tie = Field("output", description=TIE)

    @property
    def annotation_size(self) -> int:
        """Width of what the encoder hands over for each word."""
        return self.encoder_size * (2 if self.bidirectional else 1)

    @property
    def asked_by(self) -> str:
        """Which state of the decoder asks for the attention."""
        if self.cell == "cgru":
            return "between"
        return "previous" if self.attention in ASKED_BY_PREVIOUS or self.attention == "none" else "current"

    @field_validator("attention")
    @classmethod
    def _known(cls, name: str) -> str:
        from regard.nn.scores import SCORES

        names = ("none", *SCORES)
        if name not in names:
            raise ValueError(
                f"no attention is called {name!r}; choose from {', '.join(names)}.{did_you_mean(name, names)}"
            )
        return name

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
                'attention = "none" looks nowhere: it goes with span = "global", normalize = "softmax" and the cells '
                f"gru and lstm; got span = {self.span!r}, normalize = {self.normalize!r}, cell = {self.cell!r}",
            ),
            (
                self.input_feeding and self.asked_by != "current",
                "input_feeding passes on what the current state found: it needs cell gru or lstm and an attention that "
                f"the current state asks for, such as general; got cell = {self.cell!r}, attention = {self.attention!r}",
            ),
            (
                alike,
                f"attention = {self.attention!r} compares the decoder's state with the encoder's annotations directly: "
                f"decoder_size = {self.decoder_size} must equal their width, {self.annotation_size} "
                "(encoder_size x directions). Change one of them, or use general",
            ),
            (
                self.cell == "cgru" and self.decoder_layers > 1,
                f'cell = "cgru" is one layer deep; got decoder_layers = {self.decoder_layers}',
            ),
        ]


class TransformerConfig(Settings):
    """A Transformer with the normalisation before each sub-layer."""

    kind: Literal["transformer"] = Field("transformer", description="rnn or transformer.")
    layers: int = Field(4, ge=1, description="Layers of the encoder, and of the decoder.")
    size: int = Field(256, ge=1, description="Width of the model.")
    feedforward: int = Field(1024, ge=1, description="Width inside the feed-forward layers.")
    heads: int = Field(4, ge=1, description="Attention heads.")
    positions: Literal["sinusoidal", "learned", "rotary"] = Field("sinusoidal", description="How it knows the order.")
    max_positions: int = Field(1024, ge=1, description="Longest sentence, in pieces, that learned positions know.")
    dropout: float = Field(0.1, ge=0, lt=1, description="Dropout on embeddings and on what each sub-layer adds.")
    dropout_attention: float = Field(0.0, ge=0, lt=1, description="Dropout on attention weights.")
    dropout_feedforward: float = Field(0.0, ge=0, lt=1, description="Dropout inside the feed-forward layers.")
    tie: Tie = Field("output", description=TIE)

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
