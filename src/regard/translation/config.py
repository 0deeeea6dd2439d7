"""The settings of ``task = "translate"``: corpora, vocabulary, model, validation, training."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import field_validator, model_validator

from regard.settings import MOST_POSITIONS, Settings, setting
from regard.text.vocabulary_config import PiecesConfig
from regard.training.config import RunConfig, TrainingConfig
from regard.translation.model_config import ModelConfig, RNNConfig


class CorpusConfig(Settings):
    """Pairs of lines: one TSV or JSONL file, or two text files side by side; plain or .gz."""

    path: str = setting(
        "",
        'One file of pairs, plain or .gz: .jsonl is read as JSON lines, any other as "source<TAB>target".',
        may_change=True,
    )
    source: str = setting(
        "", "Or two text files, line for line: this one and `target` (then leave `path` empty).", may_change=True
    )
    target: str = setting("", "The other of the two text files.", may_change=True)
    source_field: str = setting("source", "JSON lines: the name of the source text.", min_length=1)
    target_field: str = setting("target", "JSON lines: the name of the target text.", min_length=1)

    @model_validator(mode="after")
    def _one_or_two_files(self) -> Self:
        if bool(self.path) == bool(self.source or self.target) or bool(self.source) != bool(self.target):
            raise ValueError(
                "a corpus is one file (path) or two (source and target); "
                f"got path = {self.path!r}, source = {self.source!r}, target = {self.target!r}"
            )
        return self


class TrainCorpusConfig(CorpusConfig):
    """A corpus to train on, and how much of it."""

    links: str = setting(
        "",
        "Which words belong together, for model.taught: a file with a line a pair, i-j from 0, source word first, as "
        "`regard align` writes it; empty = nothing is taught by this corpus.",
        may_change=True,
    )
    weight: float = setting(
        1.0, "How often each line is seen in an epoch: 3 = three times, 0.5 = every second epoch.", gt=0, le=1000
    )


class DataConfig(Settings):
    """The corpora and how they are read."""

    reverse: bool = setting(False, "Swap source and target: learn the other direction.")
    max_words: int = setting(
        0, "Leave out pairs with more words than this on either side; 0 = no limit.", ge=0, le=MOST_POSITIONS
    )
    max_tokens: int = setting(
        250, "Leave out pairs with more pieces than this on either side; 0 = no limit.", ge=0, le=MOST_POSITIONS
    )
    on_bad_line: Literal["refuse", "skip"] = setting(
        "refuse", "A line that cannot be read: refuse = stop and name it, skip = leave it out and count it."
    )
    cache: str = setting(
        "", "Directory of the encoded corpora, which runs may share; empty = `cache` in the run.", may_change=True
    )
    train: tuple[TrainCorpusConfig, ...] = setting(
        description="A corpus to train on. Repeat this table for several.",
        strict=False,
        min_length=1,
        examples=[[{"path": "train.tsv"}]],
    )
    validation: tuple[CorpusConfig, ...] = setting(
        description="A corpus to validate on. Repeat this table for several.",
        strict=False,
        min_length=1,
        examples=[[{"path": "dev.tsv"}]],
    )


class VocabularyConfig(PiecesConfig):
    """The vocabularies of both sides."""

    shared: bool = setting(True, "One vocabulary for both sides, or one each.")
    source_file: str = setting(
        "", "Use this sentencepiece model (of another run) instead of learning one.", may_change=True
    )
    target_file: str = setting("", "The target's, where the two are not shared.", may_change=True)

    @model_validator(mode="after")
    def _files_match_sharing(self) -> Self:
        if self.shared and self.target_file:
            raise ValueError("target_file is given, but shared = true; set it to false")
        if not self.shared and bool(self.source_file) != bool(self.target_file):
            raise ValueError("source_file and target_file go together where shared = false")
        return self


class ValidationConfig(Settings):
    """What a validation measures beside the loss."""

    beam: int = setting(1, "Hypotheses kept while translating the validation corpus; 1 = greedy.", ge=1, le=1000)
    samples: int = setting(3, "Translations to show at every validation.", may_change=True, ge=0, le=10_000)


class TranslationConfig(RunConfig):
    """A translator's run."""

    task: Literal["translate"] = setting(description="What is trained; it decides which settings there are.")
    data: DataConfig = setting(description="The corpora.")
    vocabulary: VocabularyConfig = setting(VocabularyConfig(), "Pieces of words, learned from the corpora.")
    model: ModelConfig = setting(RNNConfig.model_validate({}), "The model.")
    validation: ValidationConfig = setting(ValidationConfig(), "What a validation measures beside the loss.")
    training: TrainingConfig = setting(TrainingConfig(), "How to train.")

    @field_validator("model", mode="before")
    @classmethod
    def _default_kind(cls, model: Any) -> Any:
        """A [model] table without ``kind`` is of the default kind."""
        return {"kind": "rnn", **model} if isinstance(model, dict) else model
