"""Where local attention puts its window (Luong et al. 2015, section 3.2)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.arrays import check_sizes
from regard.errors import InputError, ShapeError
from regard.local import predict_centers
from regard.masks import check_width
from regard.shape_types import Float, Int


def check_sliding(window: int | None, causal: bool) -> int | None:
    """The width of a window that slides along with the queries of self-attention; None when there is none."""
    if window is None and causal:
        raise InputError("causal=True is said of a window; without one, pass visible=masks.causal(n) to each call")
    return None if window is None else check_width(window)


def refuse_bias(bias: Tensor | None) -> None:
    """For layers with a window."""
    if bias is not None:
        raise ShapeError("bias is for all queries x keys; a layer with a window has no such map. Leave bias out.")


class Window(nn.Module):
    """A window of ``width`` keys to each side of a center that the subclass chooses."""

    gaussian: bool

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = check_width(width)

    def centers(
        self, query: Float[Tensor, "*b q d"], lengths: Int[Tensor, "*#b"], position: int | Int[Tensor, " q"]
    ) -> Float[Tensor, "*b q"]:
        """query (b, q, d), lengths (b,) of the keys, the first query's place or all places (q,) -> (b, q)."""
        raise NotImplementedError


class MonotonicWindow(Window):
    """local-m: target word t attends around source word t (around the last one when there are fewer)."""

    gaussian = False

    def centers(
        self, query: Float[Tensor, "*b q d"], lengths: Int[Tensor, "*#b"], position: int | Int[Tensor, " q"]
    ) -> Float[Tensor, "*b q"]:
        if isinstance(position, int):
            position = torch.arange(position, position + query.shape[-2], device=query.device)
        return torch.minimum(position, (lengths[..., None] - 1).clamp(min=0)).to(query.dtype)


class PredictedWindow(Window):
    """local-p: the center is predicted from the query, S * sigmoid(v_p · tanh(W_p q)), and near keys are favoured."""

    gaussian = True

    def __init__(self, width: int, query_dim: int, hidden_dim: int | None = None) -> None:
        super().__init__(width)
        hidden_dim = query_dim if hidden_dim is None else hidden_dim
        check_sizes(query_dim=query_dim, hidden_dim=hidden_dim)
        self.W_p = nn.Linear(query_dim, hidden_dim, bias=False)
        self.v_p = nn.Parameter(torch.empty(hidden_dim).uniform_(-1, 1) * query_dim**-0.5)

    def centers(
        self,
        query: Float[Tensor, "*b q d"],
        lengths: Int[Tensor, "*#b"],
        position: int | Int[Tensor, " q"],  # noqa: ARG002 - the query decides
    ) -> Float[Tensor, "*b q"]:
        places: Tensor = predict_centers(query, self.W_p.weight, self.v_p, lengths)
        return places
