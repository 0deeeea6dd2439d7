"""Beam search with the same weights over the same sentences.

The weights are untrained, so that no hypothesis ends before the limit: both write the same number of words.
"""

from __future__ import annotations

import time

import torch

from benchmarks.joeynmt import common
from regard.decoding import search
from regard.search_options import SearchOptions


def main() -> None:
    parser = common.options(__doc__ or "")
    parser.add_argument("--sentences", type=int, default=64)
    parser.add_argument("--words", type=int, default=17, help="of the sources, and the limit of what is written")
    parser.add_argument("--beam", type=int, default=5)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    model, batch = common.model("concat").eval(), common.batch(args.sentences, args.words)

    clock = getattr(time, args.clock)

    def decode() -> tuple[float, list[list[int]]]:
        begin = clock()
        with torch.inference_mode():
            state = model.start(batch.source, batch.source_lengths)
            limits = [args.words] * args.sentences
            found = search(model, state, limits, SearchOptions(beam=args.beam), forbid=(0, 1, 2))
        return clock() - begin, [hypotheses[0].tokens for hypotheses in found]

    given = {"limit": args.words, "beam": args.beam, "alpha": 1.0}
    with common.joey(args, common.joey_weights(model), batch, **given) as joey:
        theirs, (_, ours) = joey.ask("decode")["words"], decode()
        same = sum(a == b for a, b in zip(ours, theirs, strict=True))
        print(f"{same} of {len(ours)} translations are the same, word for word")
        rounds = [
            {
                "JoeyNMT": common.awake(lambda: joey.ask("decode")["seconds"]),
                "regard": common.awake(lambda: decode()[0]),
            }
            for _ in range(args.rounds)
        ]
    common.table(rounds, "JoeyNMT", 1000, "ms")


if __name__ == "__main__":
    main()
