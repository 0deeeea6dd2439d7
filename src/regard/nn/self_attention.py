"""Self-attention: every input asks, and is asked by, every other."""

from __future__ import annotations

from torch import Tensor, nn

from regard.arrays import check_sizes
from regard.attention import Attended, attend
from regard.local import attend_local
from regard.nn.checks import check_rows
from regard.nn.scores import TrainableScore, trainable_score
from regard.nn.windows import check_sliding, refuse_bias
from regard.shape_types import Bool, Float


class SelfAttention(nn.Module):
    """Queries, keys and values projected from the same inputs: x (..., n, dim) -> context (..., n, dim).

    window   how many places to each side an input sees, None for all; time and memory then grow with n * window
    causal   with a window: only those before it, and itself

    >>> import torch
    >>> layer = regard.nn.SelfAttention(4)
    >>> layer(torch.ones(2, 3, 4)).context.shape
    torch.Size([2, 3, 4])
    """

    def __init__(
        self,
        dim: int,
        *,
        score: str | TrainableScore = "scaled_dot",
        window: int | None = None,
        causal: bool = False,
    ) -> None:
        super().__init__()
        check_sizes(dim=dim)
        self.dim = dim
        self.window, self.causal = check_sliding(window, causal), causal
        self.W_q = nn.Linear(dim, dim, bias=False)
        self.W_k = nn.Linear(dim, dim, bias=False)
        self.W_v = nn.Linear(dim, dim, bias=False)
        self.score = trainable_score(score, dim, dim)

    def forward(
        self,
        inputs: Float[Tensor, "*b n d"],
        *,
        visible: Bool[Tensor, "*#b #n #n"] | None = None,
        bias: Float[Tensor, "*#b #n #n"] | None = None,
    ) -> Attended:
        check_rows(self, self.dim, inputs=inputs)
        query = self.score.project_query(self.W_q(inputs))
        key = self.score.project_key(self.W_k(inputs))
        value, score = self.W_v(inputs), self.score.comparison()
        if self.window is None:
            return attend(query, key, value, score=score, visible=visible, bias=bias)
        refuse_bias(bias)
        return attend_local(query, key, value, width=self.window, causal=self.causal, score=score, visible=visible)
