"""python -m benchmarks [--quick] [--only NAME]: race every piece against its peers and write RESULTS.md."""

from __future__ import annotations

import argparse
import os

os.environ["KERAS_BACKEND"] = "torch"  # before anything imports Keras; its JAX backend runs in a process of its own

import warnings

from rich.console import Console

from benchmarks import additive, attend, decoding_step, dropout, growth, large, multi_head, windows
from benchmarks.report import show, write

PIECES = {
    "additive": additive,
    "decoding_step": decoding_step,
    "large": large,
    "windows": windows,
    "attend": attend,
    "multi_head": multi_head,
    "dropout": dropout,
    "growth": growth,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes and few rounds: does everything run?")
    parser.add_argument("--only", choices=PIECES, help="one piece; RESULTS.md is left as it is")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", module="torch")
    console = Console(width=160)
    sections = []
    for name, piece in PIECES.items():
        if options.only in (None, name):
            sections.append(piece.run(options.quick))
            if options.quick:
                sections[-1].bars.clear()  # asked of the full sizes
            show(sections[-1], console)
    if not options.quick and not options.only:
        write(sections, "python -m benchmarks")


if __name__ == "__main__":
    main()
