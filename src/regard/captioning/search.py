"""Beam search for captions."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from PIL import Image
from torch import Tensor

from regard.captioning.backbones import Backbone
from regard.captioning.model import CaptionModel
from regard.decoding import Hypothesis, search
from regard.errors import InputError
from regard.normalizers import Sampled
from regard.search_options import CAPTIONING, SearchOptions


def model_inputs(backbone: Backbone, photos: Sequence[Image.Image]) -> Tensor:
    """Photographs as the model takes them: the features of their cells, or pixels where the model has its own CNN."""
    prepared = torch.stack([backbone.prepare(photo) for photo in photos])
    return prepared if backbone.trainable else backbone.grid(prepared).flatten(1, 2)


def best_hypotheses(
    model: CaptionModel,
    pictures: Tensor,
    options: SearchOptions = CAPTIONING,
    *,
    generator: torch.Generator | None = None,
    hidden: Tensor | None = None,
) -> list[list[Hypothesis]]:
    """The ``n_best`` hypotheses of each picture; with a ``generator``, hard attention samples its cells.

    ``hidden`` (cells,) is True at the cells that the attention may not see.
    """
    if generator is not None and model.config.attention != "hard":
        raise InputError(f'cells are drawn by models with attention = "hard"; this one has {model.config.attention!r}')
    limit = options.max_length or CAPTIONING.max_length
    assert limit is not None
    with torch.inference_mode():
        state = model.start(pictures, None if generator is None else Sampled(generator))
        if hidden is not None:
            state = state.hide(hidden.expand(len(pictures), -1).to(pictures.device))
        return search(model, state, [limit] * len(pictures), options, forbid=model.forbidden)
