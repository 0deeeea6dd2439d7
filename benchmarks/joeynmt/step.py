"""One training step (forward, backward, clipping, Adam) of the same model on the same batch."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from benchmarks.joeynmt import common
from regard.translation.model import TranslationModel


def trainer(model: TranslationModel, batch: common.Batch) -> Callable[[], float]:
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001, fused=True)

    def step() -> float:
        loss = model(batch, label_smoothing=common.SIZES["label_smoothing"])
        (loss.objective / loss.tokens).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        return float(loss.nll / loss.tokens)

    return step


def bare_products(sentences: int, words: int) -> Callable[[], float]:
    """Every matrix product that a step needs, in the best arrangement, and nothing else.

    Products with what is known beforehand are made for all steps at once; those with a state step by step, forward
    and backward; the gradients of all matrices after the loop, for all steps at once.
    """
    d, vocabulary, rows = 256, int(common.SIZES["vocabulary"]), sentences * words

    def matrix(*shape: int) -> Tensor:
        return torch.randn(*shape) * 0.01

    at_once = [(d, 6 * d), (d, 3 * d), (2 * d, d), (d, vocabulary)]  # both encoders, decoder, keys, output layer
    in_turn = [(d, 3 * d), (d, 3 * d), (d, 3 * d), (d, 3 * d), (d, d), (3 * d, d)]  # states, feeding, query, readout
    weights = [matrix(o, i) for i, o in at_once + in_turn]
    inputs = [matrix(rows, i) for i, _ in at_once + in_turn]
    gradients = [matrix(rows, o) for _, o in at_once + in_turn]
    annotations, looks, contexts = matrix(sentences, words, 2 * d), matrix(sentences, words, words), matrix(rows, 2 * d)
    contexts = contexts.view(sentences, words, 2 * d)
    outputs = [torch.empty(rows, o) for _, o in at_once + in_turn]
    back = [torch.empty(rows, i) for i, _ in at_once + in_turn]
    sums = [torch.empty(o, i) for i, o in at_once + in_turn]

    def step() -> float:
        for place, weight in enumerate(weights):
            blocks = [slice(0, rows)]
            if place >= len(at_once):
                blocks = [slice(begin, begin + sentences) for begin in range(0, rows, sentences)]
            for block in blocks:
                torch.mm(inputs[place][block], weight.t(), out=outputs[place][block])
            for block in blocks:
                torch.mm(gradients[place][block], weight, out=back[place][block])
            torch.mm(gradients[place].t(), inputs[place], out=sums[place])
        for word in range(words):  # weighted sums of the annotations, and the gradient by the weights
            torch.bmm(looks[:, word : word + 1], annotations)
            torch.bmm(contexts[:, word : word + 1], annotations.mT)
        torch.bmm(looks.mT, contexts)
        return 0.0

    return step


def timed(step: Callable[[], float], clock: Callable[[], float]) -> float:
    begin = clock()
    step()
    return clock() - begin


def main() -> None:
    parser = common.options(__doc__ or "")
    parser.add_argument("--sentences", type=int, default=64)
    parser.add_argument("--words", type=int, default=17)
    parser.add_argument("--spread", type=int, default=0, help="how many words shorter a sentence may be")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    batch = common.batch(args.sentences, args.words, spread=args.spread)
    same, bahdanau = common.model("concat"), common.model("additive")
    ours = {
        "regard, JoeyNMT's model": trainer(same, batch),
        "regard, Bahdanau's model": trainer(bahdanau, batch),
        "the bare matrix products": bare_products(args.sentences, args.words),
    }
    clock = getattr(time, args.clock)
    with common.joey(args, common.joey_weights(same), batch) as joey:
        first = joey.ask("step")["loss"]
        print(f"loss of the first step: regard {ours[next(iter(ours))]():.4f}, JoeyNMT {first:.4f}")
        for step in ours.values():
            step()
        rounds = []
        for _ in range(args.rounds):
            times = {"JoeyNMT": common.awake(lambda: joey.ask("step")["seconds"])}
            rounds.append(times | {name: common.awake(partial(timed, step, clock)) for name, step in ours.items()})
    common.table(rounds, "JoeyNMT", 1000, "ms")


if __name__ == "__main__":
    main()
