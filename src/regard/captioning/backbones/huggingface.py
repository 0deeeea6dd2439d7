"""Any vision model in a local Hugging Face directory: its last grid, or the tokens of its patches as a grid."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from torch import Tensor

from regard.captioning.backbones.pixels import stretched
from regard.errors import DataError, InputError

_SIDE = 224
_MEAN, _STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # ImageNet's, where the directory says nothing
_BLOCK = 1 << 20


class HuggingFace:
    """A model with config.json and weights in safetensors; nothing is fetched, and no code of the directory is run.

    Of its preprocessing, the size, mean and standard deviation are taken; the photograph is stretched, not cropped.
    """

    trainable = False

    def __init__(self, directory: Path) -> None:
        self.name = str(directory)
        self._model = _load(directory)
        settings = _settings(directory / "preprocessor_config.json")
        self._height, self._width = _size(settings, getattr(self._model.config, "image_size", None))
        scaled = settings.get("do_rescale", True)
        self._scale = float(settings.get("rescale_factor", 1 / 255)) if scaled else 1.0
        shifted = settings.get("do_normalize", True)
        self._mean, self._std = (
            torch.tensor(settings.get(key, usual) if shifted else nothing).view(-1, 1, 1)
            for key, usual, nothing in (("image_mean", _MEAN, 0.0), ("image_std", _STD, 1.0))
        )
        self.identity = f"stretched to {self._height} x {self._width}, files {_digest(directory)}"
        _, self.rows, self.columns, self.dim = self.grid(torch.zeros(1, 3, self._height, self._width)).shape

    def prepare(self, photo: Image.Image) -> Tensor:
        return (stretched(photo, self._height, self._width) * self._scale - self._mean) / self._std

    @torch.inference_mode()
    def grid(self, batch: Tensor) -> Tensor:
        hidden: Tensor = self._model(pixel_values=batch).last_hidden_state
        if hidden.ndim == 4:  # (b, dim, rows, columns): a convolutional network
            return hidden.permute(0, 2, 3, 1).contiguous()
        tokens = hidden.shape[1]
        rows, columns = _patches(tokens, self._height, self._width, self.name)
        # What stands for no patch (class token, registers) comes first.
        return hidden[:, tokens - rows * columns :].reshape(len(batch), rows, columns, -1)


def _load(directory: Path) -> Any:
    try:
        from transformers import AutoModel
    except ImportError:
        raise InputError(
            f"the backbone {directory} is a Hugging Face model, which needs transformers: "
            "pip install 'regard[huggingface]'."
        ) from None
    try:
        model, info = AutoModel.from_pretrained(
            directory, local_files_only=True, use_safetensors=True, trust_remote_code=False, output_loading_info=True
        )
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        raise DataError(f"{directory} holds no model that can be read: {error}") from None
    model = getattr(model, "vision_model", model)  # of a model that also reads text
    # Weights that are not in the files would be random. The pooling after the last layer is not used here.
    missing = sorted(key for key in info["missing_keys"] if "pooler" not in key)
    if missing:
        raise DataError(f"{directory} lacks {len(missing)} weights of its model, such as {missing[0]}. Get it anew.")
    return model.eval().requires_grad_(False)


def _settings(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"{path} is not JSON ({error}).") from None
    return settings if isinstance(settings, dict) else {}


def _size(settings: dict[str, Any], of_model: Any) -> tuple[int, int]:
    """Height and width of what the network takes; a crop counts before what it is cropped from."""
    for size in (settings.get("crop_size") if settings.get("do_center_crop") else None, settings.get("size"), of_model):
        if isinstance(size, dict) and {"height", "width"} <= size.keys():
            return int(size["height"]), int(size["width"])
        if isinstance(size, dict) and "shortest_edge" in size:
            return (int(size["shortest_edge"]),) * 2
        if isinstance(size, int):
            return size, size
        if isinstance(size, list | tuple) and len(size) == 2:
            return int(size[0]), int(size[1])
    return _SIDE, _SIDE


def _patches(tokens: int, height: int, width: int, name: str) -> tuple[int, int]:
    """Rows and columns of the most patches that the tokens can stand for, as the photograph is high and wide."""
    common = math.gcd(height, width)
    down, across = height // common, width // common
    times = math.isqrt(tokens // (down * across))
    if not times:
        raise InputError(f"{name} gives {tokens} tokens, too few for a grid of a photograph {height} x {width}")
    return down * times, across * times


def _digest(directory: Path) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted([*directory.glob("*.safetensors"), *directory.glob("*.json")]):
        digest.update(f"{path.name}:{path.stat().st_size}:".encode())
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    return digest.hexdigest()
