"""A translator that was not trained: its numbers are as good as any for being searched and watched."""

from __future__ import annotations

import torch
from pydantic import TypeAdapter

from regard.text.vocabulary import Vocabulary
from regard.translation.config import TranslationConfig, VocabularyConfig
from regard.translation.model import build_model
from regard.translation.model_config import ModelConfig
from regard.translation.translator import Translator
from regard.translation.vocabularies import Vocabularies
from tests.translation import grammar

RNN = {"kind": "rnn", "embedding": 8, "encoder_size": 6, "decoder_size": 12, "attention_size": 7}


def untrained(**model) -> Translator:
    lines = [text for pair in grammar.pairs()[:200] for text in pair]
    vocabulary = Vocabulary.learn(lines, VocabularyConfig(size=70))
    settings = TypeAdapter(ModelConfig).validate_python(model)
    data = {"train": [{"path": "train.tsv"}], "validation": [{"path": "dev.tsv"}]}
    config = TranslationConfig.model_validate({"task": "translate", "run": "run", "data": data, "model": model})
    size = len(vocabulary)
    built = build_model(settings, size, size, shared=True, generator=torch.Generator().manual_seed(3))
    return Translator(built, Vocabularies(vocabulary, vocabulary), config)
