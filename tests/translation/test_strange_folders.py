"""A model folder from a stranger: sizes that its weights do not have are refused before anything is built."""

from __future__ import annotations

import re
import shutil

import pytest
import torch
from annotated_types import Le, Lt
from safetensors.torch import load_file, save_file
from torch import nn

from regard.captioning.config import CaptionConfig
from regard.errors import CheckpointError, ConfigError
from regard.settings import Settings
from regard.training.weights import sizes_of
from regard.translation.config import TranslationConfig
from regard.translation.model_config import RNNConfig, TransformerConfig
from regard.translation.translator import Translator


@pytest.fixture
def folder(toy_run, tmp_path):
    """A copy of a small model to change."""
    shutil.copytree(toy_run, tmp_path / "model", ignore=shutil.ignore_patterns("checkpoints", "cache"))
    return tmp_path / "model"


def change(folder, key, value):
    config = folder / "config.toml"
    config.write_text(re.sub(rf"(?m)^{key} = .*$", f"{key} = {value}", config.read_text()))


@pytest.mark.parametrize(
    ("key", "value"),
    [("encoder_layers", 100000), ("decoder_layers", 2**63 - 1), ("encoder_size", 10**7), ("attention_size", 10**9)],
)
def test_an_absurd_size_is_refused_by_name(folder, key, value):
    change(folder, key, value)
    with pytest.raises(ConfigError, match=rf"config\.toml: model\.{key} = {value} .* less than or equal to"):
        Translator.load(folder)


@pytest.mark.parametrize(
    ("key", "value"),
    [("encoder_layers", 256), ("decoder_layers", 256), ("encoder_size", 60000), ("embedding", 60000)],
)
def test_a_size_that_the_weights_do_not_have_is_refused_before_memory_is_filled(folder, key, value, monkeypatch):
    drawn = []
    monkeypatch.setattr(nn.init, "uniform_", lambda tensor, *_, **__: drawn.append(tensor.numel()))
    monkeypatch.setattr(nn.init, "normal_", lambda tensor, *_, **__: drawn.append(tensor.numel()))
    change(folder, key, value)
    with pytest.raises(CheckpointError, match=r"best\.safetensors is of another model than its settings say: they ask"):
        Translator.load(folder)
    assert sum(drawn) < 10**6


def test_only_the_thread_that_asked_is_held_to_the_sizes(tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    save_file({"weight": torch.zeros(3, 2)}, tmp_path / "w")
    with sizes_of(tmp_path / "w"), ThreadPoolExecutor(1) as pool:
        assert pool.submit(nn.Linear, 7, 7).result().in_features == 7
        with pytest.raises(CheckpointError, match=r"a weight of \(7, 7\) that it does not hold"):
            nn.Linear(7, 7)
    assert nn.Linear(7, 7).in_features == 7  # and nobody afterwards


def test_weights_of_another_type_are_refused(folder):
    weights = load_file(folder / "best.safetensors")
    weights["output.bias"] = weights["output.bias"].to(torch.int64)
    save_file(weights, folder / "best.safetensors")
    with pytest.raises(CheckpointError, match=r"output\.bias is torch\.int64 there, not torch\.float32"):
        Translator.load(folder)


def numbers_without_a_limit(settings: type[Settings]):
    for name, field in settings.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, Settings):
            yield from (f"{name}.{inner}" for inner in numbers_without_a_limit(field.annotation))
        elif field.annotation in (int, float) and not any(isinstance(limit, Le | Lt) for limit in field.metadata):
            yield name


@pytest.mark.parametrize("settings", [TranslationConfig, CaptionConfig, RNNConfig, TransformerConfig])
def test_every_number_has_an_upper_limit(settings):
    assert list(numbers_without_a_limit(settings)) == []
