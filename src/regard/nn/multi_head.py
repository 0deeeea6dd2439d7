"""Multi-head attention: several small attentions side by side (Vaswani et al. 2017, section 3.2.2)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from regard.arrays import check_sizes
from regard.attention import Attended, GlobalAttention
from regard.errors import InputError
from regard.local import LocalAttention
from regard.nn.checks import check_rows, check_share
from regard.nn.dropout import Dropout
from regard.nn.scores import TrainableScore, trainable_score
from regard.nn.windows import check_sliding, refuse_bias
from regard.normalizers import Normalizer
from regard.scores import Step
from regard.shape_types import Bool, Float


class MultiHeadAttention(nn.Module):
    """Each head attends in its own projection of width dim / heads; their contexts are joined and projected.

    The heads share the weights of a score that has some; their projections make them differ.

    window   how many places to each side of its own a query sees, None for all; time and memory then grow with
             q * window
    causal   with a window: only those up to its own

    >>> import torch
    >>> layer = regard.nn.MultiHeadAttention(8, heads=2)
    >>> context, weights = layer(torch.ones(3, 5, 8))
    >>> context.shape, weights.shape
    (torch.Size([3, 5, 8]), torch.Size([3, 2, 5, 5]))
    """

    def __init__(
        self,
        dim: int,
        heads: int,
        *,
        score: str | TrainableScore = "scaled_dot",
        dropout: float = 0.0,
        window: int | None = None,
        causal: bool = False,
    ) -> None:
        super().__init__()
        check_sizes(dim=dim, heads=heads)
        check_share(dropout=dropout)
        if dim % heads:
            raise InputError(
                f"dim must divide into heads of equal width: {dim} / {heads} does not. Change one of them."
            )
        self.dim, self.heads = dim, heads
        self.window, self.causal = check_sliding(window, causal), causal
        self.W_q, self.W_k, self.W_v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.W_o = nn.Linear(dim, dim)
        self.score = trainable_score(score, dim // heads, dim // heads)
        self.dropout = Dropout(dropout)
        for linear in (self.W_q, self.W_k, self.W_v, self.W_o):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    @classmethod
    def from_torch(cls, other: nn.MultiheadAttention) -> MultiHeadAttention:
        """The same layer as torch's, its weights copied; what torch's cannot say in this form is refused."""
        if not isinstance(other, nn.MultiheadAttention):
            raise InputError(f"only torch's nn.MultiheadAttention can be taken, not {type(other).__name__}")
        if other.in_proj_weight is None or other.bias_k is not None or other.add_zero_attn:
            raise InputError(
                "only nn.MultiheadAttention with one width, and without bias_k and add_zero_attn, can be taken"
            )
        if not other.batch_first:
            raise InputError(
                "the layer was made with batch_first=False, so its inputs are (rows, batch, width), and here they are "
                "(batch, rows, width): make it with batch_first=True, or set that, and transpose the inputs"
            )
        layer = cls(other.embed_dim, other.num_heads, dropout=other.dropout).to(other.in_proj_weight)
        biases = (
            other.in_proj_weight.new_zeros(3 * other.embed_dim) if other.in_proj_bias is None else other.in_proj_bias
        )
        with torch.no_grad():
            parts = zip(other.in_proj_weight.chunk(3), biases.chunk(3), strict=True)
            for linear, (weight, bias) in zip((layer.W_q, layer.W_k, layer.W_v), parts, strict=True):
                linear.weight.copy_(weight)
                linear.bias.copy_(bias)
            layer.W_o.weight.copy_(other.out_proj.weight)
            if other.out_proj.bias is not None:
                layer.W_o.bias.copy_(other.out_proj.bias)
        return layer.train(other.training)

    def forward(
        self,
        query: Float[Tensor, "*#b q dim"],
        key: Float[Tensor, "*#b k dim"] | None = None,
        value: Float[Tensor, "*#b k dim"] | None = None,
        *,
        visible: Bool[Tensor, "... #q #k"] | None = None,
        bias: Float[Tensor, "... #q #k"] | None = None,
    ) -> Attended:
        """query (b, q, dim); key (b, k, dim), the query when None; value, the key when None.

        visible and bias broadcast to (b, heads, q, k): a mask that is the same for all heads is (b, 1, q or 1, k).
        context (b, q, dim), weights (b, heads, q, k), before dropout.
        """
        key = query if key is None else key
        value = key if value is None else value
        check_rows(self, self.dim, query=query, key=key, value=value)
        return self.attend_heads(
            self.split(self.W_q(query)), self.split(self.W_k(key)), self.split(self.W_v(value)), visible, bias
        )

    def split(self, projected: Float[Tensor, "*b n dim"]) -> Float[Tensor, "*b h n d"]:
        """(..., n, dim) -> (..., heads, n, dim / heads)"""
        return projected.view(*projected.shape[:-1], self.heads, self.dim // self.heads).transpose(-2, -3)

    def attend_heads(
        self,
        query: Float[Tensor, "*#b h q d"],
        key: Float[Tensor, "*#b h k d"],
        value: Float[Tensor, "*#b h k v"],
        visible: Bool[Tensor, "... #q #k"] | None = None,
        bias: Float[Tensor, "... #q #k"] | None = None,
        *,
        normalize: Normalizer | None = None,
    ) -> Attended:
        """From projected and split query, key and value: a decoder that keeps earlier keys comes in here.

        ``normalize`` stands in for softmax, this once.
        """
        inner = self._attend(query, key, value, visible, bias, normalize or "softmax")
        joined = inner.context.transpose(-2, -3).flatten(-2)
        output: Tensor = self.W_o(joined)

        def steps() -> list[Step]:
            return [
                *inner.steps(),
                Step("joined", "the heads' contexts side by side", joined, ("q", "d"), ("context",)),
                Step("output", "W_o joined + b_o", output, ("q", "d"), ("joined",), ("d",)),
            ]

        return Attended(output, weights=lambda: inner.weights, scores=lambda: inner.scores, steps=steps)

    def _attend(
        self,
        query: Float[Tensor, "*#b h q d"],
        key: Float[Tensor, "*#b h k d"],
        value: Float[Tensor, "*#b h k v"],
        visible: Bool[Tensor, "... #q #k"] | None,
        bias: Float[Tensor, "... #q #k"] | None,
        normalize: str | Normalizer,
    ) -> Attended:
        query, key = self.score.project_query(query), self.score.project_key(key)
        how: dict[str, Any] = {"score": self.score.comparison(), "normalize": normalize, "visible": visible}
        if self.training and self.dropout.p > 0:
            how["dropout"] = self.dropout
        if self.window is None:
            return GlobalAttention.of(query, key, value, bias=bias, **how).attended()
        refuse_bias(bias)
        return LocalAttention.of(query, key, value, width=self.window, causal=self.causal, **how).attended()
