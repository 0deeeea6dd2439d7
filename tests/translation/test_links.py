"""Links teach the attention: read beside their pairs, kept as positions of pieces, and followed."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import regard
from regard.errors import ConfigError, DataError
from regard.translation.batches import Pairs
from regard.translation.config import TrainCorpusConfig
from regard.translation.corpus import Corpus
from regard.translation.encoded import encode_corpus
from regard.translation.model import link_loss
from tests.translation import grammar
from tests.translation.test_encoded import VOCABULARIES, settings

ROTATED = "0-1 1-2 2-3 3-4 4-5 5-6 6-0"
"""links of seven words that no attention finds by itself"""


@pytest.fixture
def written(tmp_path):
    """A corpus of these pairs and lines of links."""

    def write(pairs, links, name="c", **options):
        (tmp_path / f"{name}.tsv").write_text(grammar.tsv(pairs))
        (tmp_path / f"{name}.links").write_text("".join(f"{line}\n" for line in links))
        config = TrainCorpusConfig(path=str(tmp_path / f"{name}.tsv"), links=str(tmp_path / f"{name}.links"))
        return Corpus(config, **options)

    return write


PAIRS = [("the cat sat", "le chat assis"), ("the dog", "le chien")]


def test_links_stand_on_the_lines_of_their_pairs(written):
    first, second = written(PAIRS, ["0-0 2p1", ""]).linked()
    assert (first.pair, first.links) == (PAIRS[0], [(0, 0), (2, 1)])
    assert (second.pair, second.links) == (PAIRS[1], [])
    turned, _ = written(PAIRS, ["0-0 2p1", ""], reverse=True).linked()
    assert (turned.pair, turned.links) == (PAIRS[0][::-1], [(0, 0), (1, 2)])


def test_a_bad_line_takes_its_links_with_it(written, tmp_path):
    corpus = written(PAIRS, ["0-0", "9-9", "1-1"], on_bad_line="skip")
    (tmp_path / "c.tsv").write_text("the cat sat\tle chat assis\nno translation\nthe dog\tle chien\n")
    assert [linked.links for linked in corpus.linked()] == [[(0, 0)], [(1, 1)]]


@pytest.mark.parametrize(
    ("links", "message"),
    [
        (["0-0"], r"c\.links ends before line 2 of .*c\.tsv; it needs a line for each pair"),
        (["0-0", "", "0-0"], r"c\.links has more lines than .*c\.tsv; it needs a line for each pair"),
        (["0-0", "0:0"], r"c\.links:2: expected links such as 3-4 \(sure\) or 3p4 \(possible\), found '0:0'"),
        (["0-0", "2-0"], r"c\.links links source word 2 of 'the dog', which has 2 words"),
        (["0-3", ""], r"c\.links links target word 3 of 'le chat assis', which has 3 words"),
    ],
)
def test_links_that_do_not_fit_are_refused(written, tmp_path, links, message):
    with pytest.raises(DataError, match=message):
        encode_corpus(written(PAIRS, links), VOCABULARIES, settings(), tmp_path / "cache")


def test_a_file_of_links_that_is_not_there_is_named(tmp_path):
    (tmp_path / "c.tsv").write_text(grammar.tsv(PAIRS))
    with pytest.raises(DataError, match=r"there is no corpus file .*nowhere\.links"):
        Corpus(TrainCorpusConfig(path=str(tmp_path / "c.tsv"), links=str(tmp_path / "nowhere.links")))


def test_a_batch_has_the_linked_pieces_of_each_row(written, tmp_path):
    linked = encode_corpus(written(PAIRS, ["0-0 2-1", "1-1"]), VOCABULARIES, settings(), tmp_path / "cache")
    (tmp_path / "bare.tsv").write_text(grammar.tsv([("a", "un")]))
    bare = Corpus(TrainCorpusConfig(path=str(tmp_path / "bare.tsv")))
    unlinked = encode_corpus(bare, VOCABULARIES, settings(), tmp_path / "cache")
    batch = Pairs([unlinked, linked]).batch(np.array([2, 0, 1]))
    expected = []
    for row, pair, links in ((0, PAIRS[1], [(1, 1)]), (2, PAIRS[0], [(0, 0), (2, 1)])):
        ids = [vocabulary.encode([text])[0] for vocabulary, text in zip(VOCABULARIES, pair, strict=True)]
        source, target = (vocabulary.words(text) for vocabulary, text in zip(VOCABULARIES, ids, strict=True))
        for i, j in links:
            for t in range(target[j].start, target[j].stop):
                expected += [[row, t, s] for s in range(source[i].start, source[i].stop)]
    assert sorted(batch.links.tolist()) == sorted(expected)
    assert Pairs([linked]).batch(np.array([1])).links[:, 0].unique().tolist() == [0]
    assert batch.to("cpu").links.equal(batch.links)
    assert Pairs([unlinked]).batch(np.array([0])).links is None


def test_other_links_are_another_cache_entry(written, tmp_path):
    cache = tmp_path / "cache"
    encode_corpus(written(PAIRS, ["0-0", ""]), VOCABULARIES, settings(), cache)
    encode_corpus(written(PAIRS, ["0-1", ""]), VOCABULARIES, settings(), cache)
    assert len(list(cache.glob("pairs-*"))) == 2


def test_the_loss_of_links_is_that_of_a_loop():
    weights = torch.rand(3, 5, 7, generator=torch.Generator().manual_seed(0)).softmax(-1)
    links = [(0, 1, 2), (0, 1, 3), (2, 4, 0), (2, 0, 6)]
    by_token = {}
    for row, target, source in links:
        by_token.setdefault((row, target), []).append(weights[row, target, source])
    expected = -sum(sum(shares).log() for shares in by_token.values())
    assert float(link_loss(weights, torch.tensor(links))) == pytest.approx(float(expected))
    assert float(link_loss(weights, torch.empty(0, 3, dtype=torch.int64))) == 0


@pytest.mark.parametrize(
    "model",
    [
        {"kind": "rnn", "embedding": 24, "encoder_size": 24, "decoder_size": 32, "attention_size": 24},
        {"kind": "transformer", "layers": 2, "size": 32, "feedforward": 64, "heads": 4},
    ],
    ids=["rnn", "transformer"],
)
def test_attention_follows_the_links_that_it_is_taught(tmp_path, model):
    pairs = grammar.pairs()
    (tmp_path / "train.tsv").write_text(grammar.tsv(pairs))
    (tmp_path / "train.links").write_text(f"{ROTATED}\n" * len(pairs))
    regard.train(
        {
            "task": "translate",
            "run": str(tmp_path / "run"),
            "data": {
                "train": [{"path": str(tmp_path / "train.tsv"), "links": str(tmp_path / "train.links")}],
                "validation": [{"path": str(tmp_path / "train.tsv")}],
            },
            "vocabulary": {"size": 70},
            "model": {**model, "taught": 1.0},
            "training": {"updates": 250, "epochs": 0, "batch_tokens": 400, "learning_rate": 0.005, "threads": 1,
                         "validate_every": 1000},
        }
    )  # fmt: skip
    translator = regard.Translator.load(tmp_path / "run")
    found = [alignment.links for alignment in translator.align_all(pairs[:40])]
    wanted = {tuple(map(int, link.split("-"))) for link in ROTATED.split()}
    assert np.mean([len(wanted & set(links)) / 7 for links in found]) > 0.9


def test_a_model_without_attention_cannot_be_taught():
    with pytest.raises(ConfigError, match=r'attention = "none" cannot be taught where to look; got taught = 0\.5'):
        regard.train(
            {
                "task": "translate",
                "data": {"train": [{"path": "x"}], "validation": [{"path": "y"}]},
                "model": {"attention": "none", "taught": 0.5},
            }
        )
