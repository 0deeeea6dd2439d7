"""The settings of a captioning model: the ``[model]`` of a run file."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import field_validator, model_validator

from regard.scores import WITHOUT_WEIGHTS
from regard.settings import MOST_LAYERS, MOST_WIDTH, Settings, setting
from regard.text.model_config import MOST_DRAWS, Draws, known_score


class CaptionModelConfig(Settings):
    """Show, Attend and Tell (Xu et al. 2015): a decoder with attention over the cells of a picture."""

    attention: Literal["soft", "hard", "sparsemax"] = setting(
        "soft", "soft = a share of every cell, hard = one cell at a time, sparsemax = a few cells."
    )
    score: str = setting(
        "additive", "How state and cell are compared: additive, dot, scaled_dot, cosine, general, concat or location."
    )
    asked_by: Literal["previous", "current"] = setting(
        "previous",
        "Which hidden state is the query: previous = before it reads the last word (the paper's), current = after it. "
        "Where captions may begin with any of several things, only the current one knows which was begun with.",
    )
    input_feeding: bool = setting(
        False, "Let each step read what the last one found; for the current state, which else does not hear of it."
    )
    estimator: Literal["reinforce", "straight_through"] = setting(
        "reinforce", "How hard attention learns: by drawing cells (the paper's), or by soft attention's gradient."
    )
    reinforce_weight: float = setting(
        0.1, "Weight of what reinforce learns from its draws (the paper's lambda_r).", ge=0, le=1e6
    )
    entropy_weight: float = setting(
        0.002, "Weight of the entropy of the draws, which keeps reinforce trying (the paper's lambda_e).", ge=0, le=1e6
    )
    expected_share: float = setting(
        0.5, "Share of the captions for which reinforce takes the expected cell, as soft attention does.", ge=0, le=1
    )
    doubly_stochastic: float = setting(
        0.5,
        "Weight of the squares of 1 - the attention that each cell gets over a caption (eq. 14); 0 = none.",
        ge=0,
        le=1e6,
    )
    self_critical: Draws = setting(
        0,
        "Learn from this many captions drawn for each picture, by which of them have the better CIDEr-D, BLEU, "
        "ROUGE-L and METEOR (after Rennie et al. 2017), instead of from what people wrote, without dropout, label "
        "smoothing and doubly_stochastic; 0 = do not. For a last training that begins with another.",
        ge=0,
        le=MOST_DRAWS,
    )
    taught: float = setting(
        0.0,
        "Weight of what mosaics (data.mosaic) teach the attention: -log of its share in the quarter that the caption "
        "describes, for each content word after the first, which says what is described; 0 = it must find out by "
        "itself.",
        ge=0,
        le=1e6,
    )
    first_state: Literal["mean", "zero"] = setting(
        "mean",
        "The decoder's first state: predicted from the mean of the cells (the paper's), or zero, so that it knows of "
        "the picture only what it attends to.",
    )
    annotation_size: int = setting(320, "Width to which the cells' features are brought.", ge=1, le=MOST_WIDTH)
    places: bool = setting(True, "Add a learned vector to each cell, so that the model knows where it is.")
    attention_size: int = setting(256, "Width inside the additive and concat scores.", ge=1, le=MOST_WIDTH)
    cell: Literal["lstm", "gru"] = setting("lstm", "The decoder's recurrent cell.")
    embedding: int = setting(
        256, "Width of a word's embedding, and of what the output layer reads.", ge=1, le=MOST_WIDTH
    )
    decoder_size: int = setting(400, "Width of the decoder's state.", ge=1, le=MOST_WIDTH)
    decoder_layers: int = setting(1, "Decoder layers.", ge=1, le=MOST_LAYERS)
    gate: bool = setting(True, "Let the decoder weigh the whole context at every word (the paper's beta).")
    readout: Literal["tanh", "maxout"] = setting("tanh", "Last hidden layer before the output layer.")
    tie: bool = setting(True, "Let the output layer read with the words' embedding.")
    dropout_annotations: float = setting(0.1, "Dropout on the cells' features.", ge=0, lt=1)
    dropout_embedding: float = setting(0.3, "Dropout on embedded words.", ge=0, lt=1)
    dropout_layers: float = setting(0.3, "Dropout between the layers of the decoder.", ge=0, lt=1)
    dropout_output: float = setting(0.5, "Dropout on what the output layer reads.", ge=0, lt=1)

    @property
    def draws(self) -> bool:
        """Whether cells are sampled in training."""
        return self.attention == "hard" and self.estimator == "reinforce"

    @field_validator("score")
    @classmethod
    def _known(cls, name: str) -> str:
        return known_score("score", name)

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.input_feeding and self.asked_by != "current":
            raise ValueError('input_feeding passes on what the current state found: it needs asked_by = "current"')
        if self.self_critical and self.draws:
            raise ValueError(
                'self_critical draws words, and cannot draw cells too: use estimator = "straight_through" with hard'
            )
        if self.score in WITHOUT_WEIGHTS and self.decoder_size != self.annotation_size:
            raise ValueError(
                f"score = {self.score!r} compares the decoder's state with the cells directly: decoder_size = "
                f"{self.decoder_size} must equal annotation_size = {self.annotation_size}. Make them equal, or use "
                "general"
            )
        return self
