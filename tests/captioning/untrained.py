"""A captioner that was not trained: its numbers are as good as any for being searched, hidden from and measured."""

from __future__ import annotations

from typing import Any

import torch

from regard.captioning.backbones import load_backbone
from regard.captioning.captioner import Captioner
from regard.captioning.config import CaptionConfig, CaptionVocabularyConfig
from regard.captioning.model import model_for
from regard.captioning.vocabulary import learned_vocabulary
from tests.captioning.conftest import TINY

WORDS = [
    "a",
    "red",
    "green",
    "blue",
    "ball",
    "box",
    "star",
    "left",
    "of",
    "above",
    "below",
    "and",
    "the",
    "small",
    "large",
    "one",
]


def untrained(**model: Any) -> Captioner:
    data = {"train": [{"path": "train"}], "validation": [{"path": "dev"}], "backbone": "small-cnn"}
    values = {"task": "caption", "run": "run", "data": data, "model": {**TINY, **model}}
    config = CaptionConfig.model_validate(values)
    vocabulary = learned_vocabulary([" ".join(WORDS)] * 4, CaptionVocabularyConfig(size=len(WORDS) + 4))
    generator = torch.Generator().manual_seed(3)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        backbone = load_backbone("small-cnn")
    return Captioner(model_for(config.model, backbone, len(vocabulary), generator), vocabulary, backbone, config)
