"""What values are worth: the output projection that a layer applies, known by what it was given, not by its name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from regard.inspection.growth import Growing, Piece


@dataclass(frozen=True)
class Expected:
    """A call whose output the model has yet to project."""

    piece: Piece
    value: Tensor
    """(b, g, new keys, v)"""
    context: Tensor
    """(b, h, q, v)"""


class Projections:
    """Gives each piece of a map the norms of its transformed values, || v_j W_O || (Kobayashi et al. 2020, sec. 3).

    The first linear layer that is fed exactly the output of a call is its output projection. Where a model changes
    the output before (a gate, a norm), there is none, and the norms stay unknown.
    """

    def __init__(self, model: nn.Module, heads: list[int] | None) -> None:
        self.heads = heads
        self.modules = {name.replace("_orig_mod.", ""): module for name, module in model.named_modules()}
        self.expected: Expected | None = None

    def expect(self, name: str, growing: Growing, value: Tensor, context: Tensor) -> None:
        """A call was added to ``growing``; value (b, g, k, v), context (b, h, q, v)."""
        self.expected = Expected(growing.pieces[-1], value.detach()[:, :, growing.new], context.detach())
        module = self.modules.get(name)
        if isinstance(module, nn.MultiheadAttention):  # which projects by a function
            self._found(module.out_proj.weight)

    def ran(self, module: nn.Module, inputs: dict[str, Any]) -> None:
        """A module ran: is it the projection that is expected?"""
        if self.expected is None or (weight := _matrix(module)) is None:
            return
        given, (batch, heads, queries, width) = inputs.get("input_ids"), self.expected.context.shape
        if not isinstance(given, Tensor) or given.numel() != self.expected.context.numel():
            return
        with torch._C.DisableTorchFunction():
            split = given.detach().reshape(batch, queries, heads, width).transpose(1, 2)
            if weight.shape[1] == heads * width and torch.equal(split, self.expected.context):
                self._found(weight)

    def _found(self, weight: Tensor) -> None:
        assert self.expected is not None
        piece, value = self.expected.piece, self.expected.value
        self.expected = None
        width = value.shape[-1]
        heads = weight.shape[1] // width
        chosen = range(heads) if self.heads is None else self.heads
        with torch._C.DisableTorchFunction(), torch.no_grad():
            columns = weight.detach().float().view(-1, heads, width)
            each = [value[:, h * value.shape[1] // heads].float() @ columns[:, h].T for h in chosen]
            norms = torch.stack([part.norm(dim=-1) for part in each], 1).cpu()
        piece.call = replace(piece.call, norms=norms.expand(len(piece.call.query), -1, -1))


def _matrix(module: nn.Module) -> Tensor | None:
    """(out, in) of a linear layer; None for other modules."""
    weight = getattr(module, "weight", None)
    if not isinstance(weight, Tensor) or weight.ndim != 2 or not weight.is_floating_point():
        return None
    if isinstance(module, nn.Linear):
        return weight
    return weight.T if type(module).__name__ == "Conv1D" else None  # GPT-2's
