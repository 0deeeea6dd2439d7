"""Self-attention: every input asks, and is asked by, every other."""

from __future__ import annotations

from torch import Tensor, nn

from regard.attention import Attended, attend
from regard.errors import ShapeError
from regard.nn.scores import TrainableScore, trainable_score


class SelfAttention(nn.Module):
    """Queries, keys and values projected from the same inputs: x (..., n, dim) -> context (..., n, dim).

    >>> import torch
    >>> layer = regard.nn.SelfAttention(4)
    >>> layer(torch.ones(2, 3, 4)).context.shape
    torch.Size([2, 3, 4])
    """

    def __init__(self, dim: int, *, score: str | TrainableScore = "scaled_dot") -> None:
        super().__init__()
        self.dim = dim
        self.W_q = nn.Linear(dim, dim, bias=False)
        self.W_k = nn.Linear(dim, dim, bias=False)
        self.W_v = nn.Linear(dim, dim, bias=False)
        self.score = trainable_score(score, dim, dim)

    def forward(self, inputs: Tensor, *, visible: Tensor | None = None, bias: Tensor | None = None) -> Attended:
        if inputs.ndim < 2 or inputs.shape[-1] != self.dim:
            raise ShapeError(f"inputs must be (..., n, {self.dim}); they are {tuple(inputs.shape)}")
        return attend(
            self.score.project_query(self.W_q(inputs)),
            self.score.project_key(self.W_k(inputs)),
            self.W_v(inputs),
            score=self.score.comparison(),
            visible=visible,
            bias=bias,
        )
