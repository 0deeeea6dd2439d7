"""The settings of ``task = "caption"``: photographs with captions, vocabulary, model, validation, training."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from regard.captioning.backbones import BACKBONES
from regard.captioning.model_config import CaptionModelConfig
from regard.errors import CheckpointError
from regard.settings import MOST_POSITIONS, Settings, setting
from regard.text.vocabulary_config import PiecesConfig
from regard.training.config import RunConfig, TrainingConfig


class CaptionCorpusConfig(Settings):
    """Photographs and what people said of them."""

    path: str = setting(
        description='JSON lines {"image": path, "captions": [...]}, a CSV or TSV with the columns image and caption, '
        "COCO's JSON, or a folder that holds a file called captions.*",
        may_change=True,
        min_length=1,
    )
    images: str = setting("", "Folder of the photographs; empty = beside the captions.", may_change=True)


class CaptionDataConfig(Settings):
    """The photographs and how they are seen."""

    backbone: str = setting(
        "efficientnet-lite0",
        "What makes features of photographs: efficientnet-lite0 (7 x 7 cells), efficientnet-lite0-448 (14 x 14 cells, "
        "four times the work); small-cnn = trained with the model, for drawings; or "
        "the directory of a Hugging Face model.",
        min_length=1,
    )
    on_bad: Literal["refuse", "skip"] = setting(
        "refuse", "A photograph or line that cannot be read: refuse = stop and name it, skip = leave it out and say so."
    )
    mirror: bool = setting(
        False,
        "Learn from the photographs' mirror images too, with the same captions; not where these tell left from right. "
        "Features of a fixed backbone are mirrored cell by cell.",
    )
    mosaic: float = setting(
        0.0,
        "Share of the captions that are learned with a mosaic: four photographs in one picture, of which the caption "
        "describes one. The mean of such a picture says little, so that the attention must find what is described. "
        "Needs efficientnet-lite0-448.",
        ge=0,
        le=1,
    )
    max_words: int = setting(40, "Leave out captions of more words than this; 0 = no limit.", ge=0, le=MOST_POSITIONS)
    cache: str = setting(
        "", "Directory of the photographs' features, which runs may share; empty = `cache` in the run.", may_change=True
    )
    train: tuple[CaptionCorpusConfig, ...] = setting(
        description="Photographs to train on. Repeat this table for several.",
        strict=False,
        min_length=1,
        examples=[[{"path": "train.jsonl"}]],
    )
    validation: tuple[CaptionCorpusConfig, ...] = setting(
        description="Photographs to validate on. Repeat this table for several.",
        strict=False,
        min_length=1,
        examples=[[{"path": "dev.jsonl"}]],
    )


class CaptionVocabularyConfig(PiecesConfig):
    """The words of the captions."""

    size: int = setting(3000, "Words (or pieces) of the vocabulary, the four special ones included.", ge=8, le=2**24)
    kind: Literal["bpe", "word"] = setting(
        "word", "bpe = pieces of words, so that any word can be written; word = the most frequent words, whole."
    )
    plain: bool = setting(True, "Lower captions and take punctuation off, as captions are compared by convention.")


class CaptionValidationConfig(Settings):
    """What a validation measures beside the loss."""

    beam: int = setting(1, "Hypotheses kept while captioning the validation photographs; 1 = greedy.", ge=1, le=1000)
    samples: int = setting(3, "Captions to show at every validation.", may_change=True, ge=0, le=10_000)


class CaptionConfig(RunConfig):
    """A captioner's run."""

    task: Literal["caption"] = setting(description="What is trained; it decides which settings there are.")
    data: CaptionDataConfig = setting(description="The photographs.")
    vocabulary: CaptionVocabularyConfig = setting(CaptionVocabularyConfig(), "Words, learned from the captions.")
    model: CaptionModelConfig = setting(CaptionModelConfig(), "The model.")
    validation: CaptionValidationConfig = setting(
        CaptionValidationConfig(), "What a validation measures beside the loss."
    )
    training: TrainingConfig = setting(
        TrainingConfig(batch_tokens=768, learning_rate=0.001, warmup=200, validate_every=400), "How to train."
    )

    @model_validator(mode="after")
    def _teaches_with_mosaics(self) -> Self:
        if self.model.taught and not self.data.mosaic:
            raise ValueError(
                f"model.taught = {self.model.taught} is what mosaics teach, and data.mosaic = 0 makes none: set "
                "data.mosaic = 0.5, or model.taught = 0"
            )
        return self

    def check_portable(self) -> None:
        if self.data.backbone not in BACKBONES:
            raise CheckpointError(
                f"this captioner sees by {self.data.backbone}, which is no part of the run and may be too large to "
                f"hand on; captioners with the backbones {', '.join(BACKBONES)} can be exported. Copy the run and that "
                "folder."
            )
