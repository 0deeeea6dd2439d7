"""The options of a beam search, and their defaults for each task. Importing it does not import torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

from regard.arrays import check_sizes
from regard.errors import InputError

MAX_BEAM = 1000


@dataclass(frozen=True)
class SearchOptions:
    """How decoding searches: checked here, once, so that whatever takes them can rely on them.

    >>> SearchOptions(beam=2, n_best=3)
    Traceback (most recent call last):
    regard.errors.InputError: a beam of 2 cannot give 3 best; ask for 1 <= n_best <= beam
    """

    beam: int = 5
    """hypotheses kept at every step; 1 is greedy search"""
    n_best: int = 1
    """hypotheses returned for each input, best first"""
    alpha: float = 1.0
    """exponent of the length penalty (Wu et al. 2016, eq. 14); 0 ranks by log-probability alone"""
    max_length: int | None = None
    """longest output in tokens, EOS included; None leaves it to the task"""

    def __post_init__(self) -> None:
        check_sizes(beam=self.beam, n_best=self.n_best)
        if self.max_length is not None:
            check_sizes(max_length=self.max_length)
        if self.n_best > self.beam:
            raise InputError(f"a beam of {self.beam} cannot give {self.n_best} best; ask for 1 <= n_best <= beam")
        if not 0 <= self.alpha <= 10:
            raise InputError(
                f"alpha = {self.alpha} cannot weigh the length penalty; use 0 (none) to about 1.5, at most 10"
            )
        if self.beam > MAX_BEAM:
            raise InputError(f"a beam of {self.beam} is more than {MAX_BEAM}; 5 to 10 find what there is to find")


class SearchKeywords(TypedDict, total=False):
    """The same as keywords, for the signatures that hand them on."""

    beam: int
    n_best: int
    alpha: float
    max_length: int | None


# With alpha = 1, translations are a few percent shorter than people's. Captions a little longer than the likeliest say
# more of what people said.
TRANSLATION = SearchOptions(alpha=1.4)
CAPTIONING = SearchOptions(alpha=1.3, max_length=40)
