"""Hugging Face models from a directory, and what is said when they cannot be read or run."""

import json

import pytest
from PIL import Image

from regard.errors import DataError, InputError
from regard.inspection.pretrained import is_pretrained, load_model, record_image, record_text
from tests.inspection.models import SMALL, made

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "on", "mat", "because", "was", "tired", "."]


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    """A tiny BERT with a vocabulary of its own."""
    from transformers import BertTokenizer

    directory = tmp_path_factory.mktemp("bert")
    made("BertModel", **SMALL).save_pretrained(directory)
    (directory / "vocab.txt").write_text("\n".join(WORDS), "utf-8")
    BertTokenizer(str(directory / "vocab.txt")).save_pretrained(directory)
    return directory


@pytest.fixture(scope="module")
def vit(tmp_path_factory):
    directory = tmp_path_factory.mktemp("vit")
    made("ViTModel", **{**SMALL, "image_size": 24, "patch_size": 8}).save_pretrained(directory)
    settings = {"image_processor_type": "ViTImageProcessor", "size": {"height": 24, "width": 24}}
    (directory / "preprocessor_config.json").write_text(json.dumps(settings), "utf-8")
    return directory


def test_a_text_is_read_and_labelled(bert):
    assert is_pretrained(bert)
    recorded = record_text(load_model(bert), bert, "The cat sat.")
    assert recorded.tokens == ["[CLS]", "the", "cat", "sat", ".", "[SEP]"]
    assert recorded["encoder.layer.1.attention.self"].shape == (1, 4, 6, 6)


def test_a_picture_is_read(vit, tmp_path):
    Image.new("RGB", (30, 20), "red").save(tmp_path / "red.png")
    recorded = record_image(load_model(vit), vit, tmp_path / "red.png")
    assert {found.shape for found in recorded.values()} == {(1, 4, 10, 10)}


def test_refusals(bert, vit, tmp_path):
    model = load_model(bert)
    with pytest.raises(InputError, match="the text is empty"):
        record_text(model, bert, " \n")
    with pytest.raises(InputError, match="has 82 tokens; the model takes 64"):
        record_text(model, bert, "cat " * 80)
    with pytest.raises(DataError, match="cannot be read as a picture"):
        record_image(model, bert, bert / "vocab.txt")
    assert not is_pretrained(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "nothing"}')
    with pytest.raises(DataError, match="cannot be read as a model"):
        load_model(tmp_path)
    with pytest.raises(DataError, match="no tokenizer"):
        record_text(load_model(vit), vit, "cat")
