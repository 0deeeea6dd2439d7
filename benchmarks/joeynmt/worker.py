"""JoeyNMT's side, run by its own interpreter: reads one command a line, answers with one line of JSON."""

import json
import logging
import sys
import time
from types import SimpleNamespace

import torch
from joeynmt.batch import Batch
from joeynmt.builders import build_gradient_clipper, build_optimizer
from joeynmt.model import build_model
from joeynmt.search import search
from joeynmt.vocabulary import Vocabulary

SPECIALS = {"pad_id": 0, "unk_id": 1, "bos_id": 2, "eos_id": 3, "sep_id": None}


def build(sizes):
    names = ["<pad>", "<unk>", "<s>", "</s>"]
    marks = dict(zip(("pad_token", "unk_token", "bos_token", "eos_token"), names, strict=True))
    config = SimpleNamespace(**marks, sep_token=None, lang_tags=[], **SPECIALS)
    vocabulary = Vocabulary.__new__(Vocabulary)
    vocabulary.specials, vocabulary.lang_tags = names, []
    vocabulary._itos = names + [f"w{number}" for number in range(4, sizes["vocabulary"])]
    vocabulary._stoi = {word: number for number, word in enumerate(vocabulary._itos)}
    for name in ("pad", "unk", "bos", "eos"):
        setattr(vocabulary, f"{name}_index", getattr(config, f"{name}_id"))
    vocabulary.sep_index = None
    embeddings = {"embedding_dim": sizes["embedding"], "dropout": sizes["dropout"]}
    rnn = {"type": "recurrent", "rnn_type": "gru", "hidden_size": sizes["hidden"], "dropout": sizes["dropout"]}
    model = build_model(
        {
            "encoder": {**rnn, "embeddings": embeddings, "bidirectional": True, "num_layers": 1},
            "decoder": {
                **rnn,
                "embeddings": embeddings,
                "num_layers": 1,
                "attention": "bahdanau",
                "input_feeding": True,
                "init_hidden": "bridge",
                "hidden_dropout": sizes["dropout"],
            },
        },
        vocabulary,
        vocabulary,
    )
    model.loss_function = ("crossentropy", sizes["label_smoothing"])
    return model


class Worker:
    def __init__(self, path):
        given = torch.load(path, weights_only=True)
        torch.set_num_threads(given["threads"])
        self.clock = getattr(time, given["clock"])
        self.given, self.model = given, build(given["sizes"])
        if given["weights"]:
            self.model.load_state_dict(given["weights"])
        settings = {"clip_grad_val": None, "clip_grad_norm": 1.0, "optimizer": "adam", "learning_rate": 0.001}
        self.clip = build_gradient_clipper(settings)
        self.optimizer = build_optimizer(settings, self.model.parameters())

    def batch(self, train):
        return Batch(
            src=self.given["source"],
            src_length=self.given["source_lengths"],
            src_prompt_mask=None,
            trg=self.given["target"] if train else None,
            trg_prompt_mask=None,
            indices=torch.arange(len(self.given["source"])),
            device=torch.device("cpu"),
            pad_index=0,
            eos_index=3,
            is_train=train,
        )

    def step(self):
        """As the training loop of JoeyNMT does it, without reading, logging and learning-rate schedule."""
        self.model.train()
        batch = self.batch(train=True)
        begin = self.clock()
        loss, _, _, correct = self.model(return_type="loss", **vars(batch))
        normal = batch.normalize(loss, normalization="tokens")
        normal.backward()
        correct.item(), normal.item()
        self.clip(parameters=self.model.parameters())
        self.optimizer.step()
        self.model.zero_grad()
        return {"seconds": self.clock() - begin, "loss": normal.item()}

    @torch.no_grad()
    def decode(self):
        self.model.eval()
        batch = self.batch(train=False)
        begin = self.clock()
        words, _, _ = search(
            self.model,
            batch,
            max_output_length=self.given["limit"],
            beam_size=self.given["beam"],
            beam_alpha=self.given["alpha"],
            n_best=1,
        )
        return {"seconds": self.clock() - begin, "words": [[int(word) for word in line] for line in words]}


def main():
    logging.disable(logging.CRITICAL)
    worker = Worker(sys.argv[1])
    for line in sys.stdin:
        print(json.dumps(getattr(worker, line.strip())()), flush=True)


if __name__ == "__main__":
    main()
