"""Additive scores where the usual tensor would not fit: (1, 8192, 8192, 256)."""

from __future__ import annotations

from benchmarks import peers
from benchmarks.harness import OURS, RACE_COLUMNS, Bar, Local, Section, megabytes, race
from regard.kernels import additive_scores

LIMIT = 600e6


def run(quick: bool) -> Section:
    section = Section("Additive scores of a long input", RACE_COLUMNS)
    shape: peers.Shape = (1, 512, 512, 64) if quick else (1, 8192, 8192, 256)
    arrays = peers.inputs(shape)
    for backward in (False, True):
        what = "forward + backward" if backward else "forward"
        outcome = race([Local(OURS, peers.with_torch(additive_scores, arrays, backward))], 1)
        section.add_race(f"{what} {shape}", outcome)
        peak = outcome.peaks[OURS]
        section.bars.append(
            Bar(f"additive {what} {shape}, memory beyond the inputs", "under 600 MB", megabytes(peak), peak < LIMIT)
        )
    b, n, m, d = shape
    section.notes.append(
        f"The scores themselves are {megabytes(4 * b * n * m)}. PyTorch eager would need "
        f"{megabytes(4 * b * n * m * d)} for each tensor of the size of query + key: computed, not run."
    )
    return section
