"""Attention with weights that train: any score, soft or hard, global or local."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor, nn

from regard.arrays import boolean, check_sizes
from regard.attention import Attended, attend
from regard.errors import InputError
from regard.local import attend_local, visible_lengths
from regard.nn.checks import check_rows
from regard.nn.scores import TrainableScore, trainable_score
from regard.nn.windows import MonotonicWindow, Window, refuse_bias
from regard.normalizers import NORMALIZERS, Normalizer, normalizer_of
from regard.shape_types import Float, Int


class Attention(nn.Module):
    """Attend to keys with a query and give back the mix of their values.

    score       by name (dot, scaled_dot, cosine, general, additive, concat, location) or a TrainableScore
    hidden_dim  the width inside additive and concat; query_dim when None
    normalize   "softmax", "sparsemax", "hard" (trained straight through), or a callable scores -> weights
    window      None: all keys; a width: local-m; nn.PredictedWindow(width, query_dim): local-p

    >>> import torch
    >>> layer = regard.nn.Attention(6, 4, score="additive", hidden_dim=5)
    >>> context, weights = layer(torch.zeros(2, 3, 6), torch.ones(2, 7, 4))
    >>> context.shape, weights.shape
    (torch.Size([2, 3, 4]), torch.Size([2, 3, 7]))
    """

    def __init__(
        self,
        query_dim: int,
        key_dim: int,
        *,
        score: str | TrainableScore = "additive",
        hidden_dim: int | None = None,
        normalize: str | Normalizer = "softmax",
        window: int | Window | None = None,
    ) -> None:
        super().__init__()
        check_sizes(query_dim=query_dim, key_dim=key_dim)
        self.query_dim, self.key_dim = query_dim, key_dim
        self.score = trainable_score(score, query_dim, key_dim, hidden_dim)
        self.normalize = straight_through if normalize == "hard" else normalizer_of(normalize)
        self.window = MonotonicWindow(window) if isinstance(window, int | np.integer) else window
        if not isinstance(self.window, Window | None):
            raise InputError(f"window must be None, a width or a Window such as nn.PredictedWindow; it is {window!r}")

    def project(self, key: Float[Tensor, "*b k d_k"]) -> Float[Tensor, "*b k hidden"]:
        """What depends on the keys alone: compute it once when many steps attend to the same keys."""
        return self.score.project_key(key)

    def forward(
        self,
        query: Float[Tensor, "*#b q d_q"],
        key: Float[Tensor, "*#b k d_k"],
        value: Float[Tensor, "*#b k v"] | None = None,
        *,
        visible: Any = None,
        bias: Float[Tensor, "*#b #q #k"] | None = None,
        projected: Float[Tensor, "*#b k hidden"] | None = None,
        position: int | Int[Tensor, " q"] = 0,
        normalize: Normalizer | None = None,
    ) -> Attended:
        """query (b, q, query_dim), key (b, k, key_dim), value (b, k, v), the keys when None; visible (b, q or 1, k).

        ``projected`` is what `project` gave for these keys. ``position`` is the place of the first query, the
        others following it, or the place of each (q,): local-m needs it when a decoder asks step by step.
        ``normalize`` stands in for the layer's own, this once.
        """
        self._check(query, key)
        value = key if value is None else value
        normalize = self.normalize if normalize is None else normalize
        asked = self.score.project_query(query)
        projected = self.project(key) if projected is None else projected
        if self.window is None:
            score = self.score.comparison()
            return attend(asked, projected, value, score=score, normalize=normalize, visible=visible, bias=bias)
        refuse_bias(bias)
        seen = None if visible is None else boolean(visible, "visible", key)
        moves = isinstance(self.window, MonotonicWindow) and isinstance(position, int) and position == 0
        centers = None if moves else self.window.centers(query, visible_lengths(key, seen), position)
        window: dict[str, Any] = {"width": self.window.width, "gaussian": self.window.gaussian, "stay": moves}
        kind: dict[str, Any] = {"score": self.score.comparison(), "normalize": normalize}
        return attend_local(asked, projected, value, centers=centers, visible=seen, **window, **kind)

    def _check(self, query: Tensor, key: Tensor) -> None:
        check_rows(self, self.query_dim, f", as the layer was made with query_dim={self.query_dim}", query=query)
        check_rows(self, self.key_dim, f", as the layer was made with key_dim={self.key_dim}", key=key)


def straight_through(scores: Float[Tensor, "*b k"]) -> Float[Tensor, "*b k"]:
    """One-hot forward, softmax backward: hard attention that trains by ordinary gradients (Bengio et al. 2013)."""
    soft: Tensor = NORMALIZERS["softmax"](scores)
    chosen: Tensor = NORMALIZERS["hard"](scores)
    return chosen + (soft - soft.detach())
