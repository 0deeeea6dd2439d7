"""From plain files: ``regard train`` and ``joeynmt train`` in turn; the same corpus, pieces, model and settings.

JoeyNMT fills its batches with sentences of any length, so that more of them is padding; it is given larger ones, so
that an update of either learns from as many words.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.joeynmt.common import options, table

BATCH_TOKENS, LEARNING_RATE, HELD_OUT = 2048, 0.001, 300
RUN = """
task = "translate"
run = "{folder}/ours-{round}"
data.cache = "{folder}/cache"
vocabulary = {{ size = 6483, shared = true }}
[[data.train]]
source = "{folder}/train.en"
target = "{folder}/train.xx"
[[data.validation]]
source = "{folder}/dev.en"
target = "{folder}/dev.xx"
[model]
attention = "concat"
input_feeding = true
dropout_embedding = 0.0
dropout_layers = 0.0
dropout_output = 0.0
tie = "none"
[training]
epochs = 0
updates = {updates}
batch_tokens = {batch_tokens}
learning_rate = {learning_rate}
label_smoothing = 0.0
validate_every = {updates}
threads = {threads}
"""


def main() -> None:
    parser = options(__doc__ or "")
    parser.add_argument("--source", type=Path, required=True, help="the corpus' source side, a sentence a line")
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--updates", type=int, default=150)
    parser.set_defaults(rounds=2)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for side, path in (("en", given.source), ("xx", given.target)):
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
            (folder / f"train.{side}").write_text("".join(lines[HELD_OUT:]), encoding="utf-8")
            (folder / f"dev.{side}").write_text("".join(lines[:HELD_OUT]), encoding="utf-8")
        rounds, losses = [], []
        for number in range(given.rounds):
            ours, our_loss, words = train_ours(folder, number, given.updates, given.threads)
            theirs, their_loss = train_theirs(folder, number, given.updates, words, given.threads, given.joey)
            rounds.append({"regard train": 1 / ours, "joeynmt train": 1 / theirs})
            losses.append((our_loss, their_loss))
            print(f"round {number + 1}: {ours:.0f} and {theirs:.0f} target tokens/s", flush=True)
    table(rounds, "joeynmt train", 1e6, "µs a target token")
    print(f"held-out loss after {given.updates} updates, nats a piece, in turn: {losses}")
    print(f"target tokens/s, median: {median(1 / r['regard train'] for r in rounds):.0f} and ", end="")
    print(f"{median(1 / r['joeynmt train'] for r in rounds):.0f}")


def train_ours(folder: Path, number: int, updates: int, threads: int) -> tuple[float, float, float]:
    """Target tokens a second of all updates but the first ten, the held-out loss, and target tokens an update."""
    config = folder / f"ours-{number}.toml"
    values = {"updates": updates, "threads": threads, "batch_tokens": BATCH_TOKENS, "learning_rate": LEARNING_RATE}
    config.write_text(RUN.format(folder=folder, round=number, **values))
    subprocess.run([sys.executable, "-m", "regard", "train", str(config)], check=True, stderr=subprocess.DEVNULL)
    lines = [json.loads(line) for line in (folder / f"ours-{number}" / "log.jsonl").read_text().splitlines()]
    timed = [line for line in lines if line["kind"] == "update"][10:]
    tokens = sum(line["tokens"] for line in timed)
    rate = tokens / sum(line["seconds"] for line in timed)
    return rate, next(line["loss"] for line in lines if line["kind"] == "validation"), tokens / len(timed)


def their_batch_size(lengths: list[tuple[int, int]], words: float) -> int:
    """The batch size, padding counted, by which JoeyNMT learns from ``words`` target tokens an update."""
    random.Random(0).shuffle(lengths)

    def mean_words(size: int) -> float:
        batches, count, longest = 1, 0, 0
        for source, target in lengths:
            count, longest = count + 1, max(longest, source + 1, target + 1)
            if longest * count >= size:
                batches, count, longest = batches + 1, 0, 0
        return sum(target + 1 for _, target in lengths) / batches

    return min(range(1024, 8192, 64), key=lambda size: abs(mean_words(size) - words))


def train_theirs(
    folder: Path, number: int, updates: int, words_an_update: float, threads: int, python: str
) -> tuple[float, float]:
    """The same by JoeyNMT, which reports its speed every ten updates; pieces are those this package learned."""
    import sentencepiece

    pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / "ours-0" / "vocabulary.model"))
    words = [pieces.id_to_piece(i) for i in range(4, pieces.get_piece_size())]
    (folder / "words.txt").write_text("\n".join(["<unk>", "<pad>", "<s>", "</s>", *words]) + "\n")
    sides = ((folder / f"train.{side}").read_text(encoding="utf-8").splitlines() for side in ("en", "xx"))
    lengths = [tuple(map(len, pieces.encode(list(pair)))) for pair in zip(*sides, strict=True)]
    batch_size = their_batch_size(lengths, words_an_update)
    print(f"{words_an_update:.0f} target tokens an update: a batch size of {BATCH_TOKENS} and {batch_size}", flush=True)
    side = {
        "level": "bpe", "max_length": 249, "lowercase": False, "normalize": False,
        "voc_file": str(folder / "words.txt"),
        "tokenizer_type": "sentencepiece", "tokenizer_cfg": {"model_file": str(folder / "ours-0" / "vocabulary.model")},
    }  # fmt: skip
    embeddings = {"embedding_dim": 256, "dropout": 0.0, "scale": False}
    rnn = {"type": "recurrent", "rnn_type": "gru", "hidden_size": 256, "num_layers": 1, "dropout": 0.0}
    config = {
        "name": "race", "use_cuda": False, "fp16": False, "random_seed": 1,
        "model_dir": str(folder / f"theirs-{number}"),
        "data": {
            "train": str(folder / "train"), "dev": str(folder / "dev"), "dataset_type": "plain",
            "src": {"lang": "en", **side}, "trg": {"lang": "xx", **side},
        },
        "testing": {"n_best": 1, "beam_size": 1, "batch_size": 64, "batch_type": "sentence", "eval_metrics": ["bleu"]},
        "training": {
            "optimizer": "adam", "learning_rate": LEARNING_RATE, "learning_rate_min": 0.0, "clip_grad_norm": 1.0,
            "batch_size": batch_size, "batch_type": "token", "normalization": "tokens", "label_smoothing": 0.0,
            "loss": "crossentropy", "scheduling": "exponential", "decrease_factor": 1.0, "epochs": 100,
            "updates": updates, "validation_freq": updates, "logging_freq": 10, "shuffle": True,
            "early_stopping_metric": "ppl", "keep_best_ckpts": 1,
        },
        "model": {
            "encoder": {**rnn, "bidirectional": True, "embeddings": embeddings},
            "decoder": {
                **rnn, "embeddings": embeddings, "attention": "bahdanau", "input_feeding": True,
                "init_hidden": "bridge", "hidden_dropout": 0.0,
            },
        },
    }  # fmt: skip
    path = folder / f"theirs-{number}.yaml"
    path.write_text(json.dumps(config))
    threaded = {"OMP_NUM_THREADS": str(threads), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [python, "-m", "joeynmt", "train", str(path), "--skip-test"], capture_output=True, text=True, env=threaded
    )
    output = done.stdout + done.stderr
    rates = [float(rate) for rate in re.findall(r"Tokens per Sec:\s+(\d+)", output)][1:]
    found = re.findall(r"loss:\s+([\d.]+)", output)
    if not rates or not found:
        sys.exit(f"JoeyNMT did not train: {output[-2000:]}")
    return len(rates) / sum(1 / rate for rate in rates), float(found[-1])


if __name__ == "__main__":
    main()
