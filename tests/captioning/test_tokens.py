"""Captions in words, as the field's evaluation cuts them."""

from __future__ import annotations

import pytest

from regard.captioning.metrics import meteor_missing
from regard.captioning.tokens import ptb_words

CAPTIONS = {
    "A black dog , running !": "a black dog running",
    "Don't stop (now)! He's \"here\", isn't he?": "do n't stop -lrb- now -rrb- he 's here is n't he",
    "she'll they've we'd I'm you're": "she 'll they 've we 'd i 'm you 're",
    "A man can't, cannot, gonna; wanna: 'quoted' word's": "a man ca n't can not gon na wan na quoted word 's",
    "U.S. flag & Mr. Smith at St. John's 3:30 p.m.": "u.s. flag & mr. smith at st. john 's 3:30 p.m.",
    "1,000 dogs 3.5 feet 50% off $5": "1,000 dogs 3.5 feet 50 % off $ 5",
    "a black-and-white dog -- running... away": "a black-and-white dog running away",
    "rock 'n' roll the dogs' tails 80's 'til": "rock 'n' roll the dogs tails 80 's 'til",
    "a [b] {c} / d + e": "a -lsb- b -rsb- -lcb- c -rcb- / d + e",
    "café \u2013 em\u2014dash \u2026 \u201ccurly\u201d \u2018single\u2019 it\u2019s": "café em dash curly single it 's",
    "t-shirt T-Shirt o'clock ma'am": "t-shirt t-shirt o'clock ma'am",
    "no.5 No. 5 and no. He runs": "no. 5 no. 5 and no he runs",
    "one,two three;four five:six": "one two three four five six",
    "http://example.com a@b.com 12/25/2001": "http://example.com a@b.com 12/25/2001",
    "Wow!!! dog?? .... ?!": "wow !!! dog ?? ?!",
    "a man on Main St.": "a man on main st.",
    "a basketball player for Miami U. pushes": "a basketball player for miami u. pushes",
    "an at&t headphone": "an at & t headphone",
    "lemme gimme gotta 'tis 'twas": "lem me gim me got ta 't is 't was",
    "two dogs.One runs": "two dogs.one runs",
    "  ": "",
}


@pytest.mark.parametrize(("caption", "words"), CAPTIONS.items())
def test_words(caption, words):
    assert ptb_words(caption) == words.split()


def test_the_program_that_the_evaluation_runs_gives_the_same():
    if missing := meteor_missing():
        pytest.skip(missing.replace("METEOR", "the Treebank's own program"))
    from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

    theirs = PTBTokenizer().tokenize({n: [{"caption": caption}] for n, caption in enumerate(CAPTIONS)})
    assert [one.split() for (one,) in theirs.values()] == [ptb_words(caption) for caption in CAPTIONS]


def test_a_long_line_of_one_letter_is_cut_in_good_time():
    assert ptb_words("a" * 20_000) == ["a" * 20_000]
    assert len(ptb_words("(" * 20_000)) == 20_000
