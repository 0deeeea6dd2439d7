"""Learning from one's own captions: some are drawn, and those that score better than the others made more likely.

Rennie et al. 2017 call it self-critical training. They compare with the greedy caption; here each draw is compared with
the mean of the other draws of its picture, which need to be scored anyway.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.captioning.evaluation import CiderD, bleu
from regard.decoding import SearchState, Stepping
from regard.marks import BOS, EOS, PAD, UNK

BLEU_WEIGHT = 3.0
"""Of the mean of BLEU-1 to 4, up to 1, beside CIDEr-D, up to 10 but about 0.5: the two then count alike."""
SHARPNESS = 2.0
"""By what logits are multiplied to draw from them, and to learn from that: what is drawn is then near what is found."""
NEVER = [PAD, BOS, UNK]
"""What no caption holds. It must have no share in what is learned either: it would get what others lose, as no caption
that is drawn can teach better."""


class Critic:
    """Scores drawn captions by CIDEr-D and BLEU. ``captions[i]`` are those that people wrote of picture i, as ids.

    The end counts as a word: else a caption loses nothing by breaking off after "in a".
    """

    def __init__(self, captions: Sequence[Sequence[Sequence[int]]]) -> None:
        self.cider = CiderD([[[*ids, EOS] for ids in several] for several in captions])

    def advantages(self, pictures: Sequence[int], drawn: Sequence[Sequence[Sequence[int]]]) -> Tensor:
        """By how much each caption ``drawn[i][j]`` of ``pictures[i]`` beats the mean of the others; (b * count,).

        Scaled by what all of them spread, so that the step does not depend on how good the model already is.
        """
        scores = torch.tensor([self._scores(*one) for one in zip(pictures, drawn, strict=True)])
        count = scores.shape[1]
        better = (scores - scores.mean(1, keepdim=True)) * (count / (count - 1))
        return (better / better.square().mean().sqrt().clamp(min=1e-3)).flatten()

    def _scores(self, picture: int, drawn: Sequence[Sequence[int]]) -> list[float]:
        known = self.cider.known[picture]
        bleus = [sum(bleu([words], [known])) / 4 for words in drawn]
        return [c + BLEU_WEIGHT * b for c, b in zip(self.cider.scores(picture, drawn), bleus, strict=True)]


@torch.no_grad()
def draw(model: Stepping, state: SearchState, pictures: int, count: int, longest: int) -> list[list[list[int]]]:
    """``count`` captions for each of the pictures whose ``state`` this is, word by word as the sharpened model says.

    Each with its end, unless it is the ``longest`` already.
    """
    state = state.reorder(torch.zeros(pictures, count, dtype=torch.int64))
    words, going = torch.full((pictures, count), BOS), torch.ones(pictures, count, dtype=torch.bool)
    written: list[Tensor] = []
    while going.any() and len(written) < longest:
        logits, _, state, _ = model.step(words, state)
        logits[..., NEVER] = -torch.inf
        words = (logits * SHARPNESS).softmax(-1).flatten(0, 1).multinomial(1).view(pictures, count).cpu()
        written.append(words.where(going, PAD))
        going &= words != EOS
    return [[[word for word in one if word != PAD] for one in several] for several in torch.stack(written, -1).tolist()]
