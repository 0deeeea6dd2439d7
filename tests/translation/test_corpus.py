"""Reading pairs: every format, and every kind of bad line by file and line."""

from __future__ import annotations

import gzip
import json
from itertools import islice

import pytest

from regard.errors import DataError
from regard.translation.config import CorpusConfig
from regard.translation.corpus import Corpus, Pair

PAIRS = [Pair("a man", "un homme"), Pair("A dog \u2028 runs", "Un chien court"), Pair("é\u00a0!", "'x' \"y\"")]


def write(path, content):
    raw = content if isinstance(content, bytes) else content.encode("utf-8")
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)
    return str(path)


def tsv(pairs=PAIRS):
    return "".join(f"{pair.source}\t{pair.target}\n" for pair in pairs)


@pytest.mark.parametrize("name", ["c.tsv", "c.tsv.gz", "c.txt"])
def test_tsv(tmp_path, name):
    assert list(Corpus(CorpusConfig(path=write(tmp_path / name, tsv())))) == PAIRS


@pytest.mark.parametrize("name", ["c.jsonl", "c.jsonl.gz", "c.ndjson"])
def test_json_lines_with_fields_of_ones_own(tmp_path, name):
    text = "".join(json.dumps({"en": p.source, "fr": p.target, "id": 7}) + "\n" for p in PAIRS)
    config = CorpusConfig(path=write(tmp_path / name, text), source_field="en", target_field="fr")
    assert list(Corpus(config)) == PAIRS


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_two_parallel_files(tmp_path, suffix):
    source = write(tmp_path / f"c.en{suffix}", "".join(p.source + "\n" for p in PAIRS))
    target = write(tmp_path / f"c.fr{suffix}", "\r\n".join(p.target for p in PAIRS))  # other ends, none at the last
    assert list(Corpus(CorpusConfig(source=source, target=target))) == PAIRS


def test_reverse_swaps_the_sides(tmp_path):
    corpus = Corpus(CorpusConfig(path=write(tmp_path / "c.tsv", tsv())), reverse=True)
    assert list(corpus) == [Pair(p.target, p.source) for p in PAIRS]


def test_a_byte_order_mark_is_no_text(tmp_path):
    assert next(iter(Corpus(CorpusConfig(path=write(tmp_path / "c.tsv", b"\xef\xbb\xbfa\tb\n"))))) == Pair("a", "b")


def json_rows(middle):
    return b'{"source": "a", "target": "b"}\n' + middle + b'\n{"source": "c", "target": "d"}\n'


BAD = [
    ("c.tsv", b"a\tb\nx\ty\tz\nc\td\n", "c.tsv:2: expected 2 tab-separated fields, found 3."),
    ("c.tsv", b"a\tb\nx\nc\td\n", "c.tsv:2: expected 2 tab-separated fields, found 1."),
    ("c.tsv", b"a\tb\n\nc\td\n", "c.tsv:2: expected 2 tab-separated fields, found 1."),
    ("c.tsv.gz", b"a\tb\nx\t \nc\td\n", "c.tsv.gz:2: expected text on both sides, found an empty target."),
    ("c.tsv", b"a\tb\n\ty\nc\td\n", "c.tsv:2: expected text on both sides, found an empty source."),
    ("c.tsv", b"a\tb\nab\xffc\ty\nc\td\n", "c.tsv:2: expected UTF-8, found the byte 0xff at column 3."),
    ("c.jsonl", json_rows(b"{x}"), "c.jsonl:2: expected a JSON object, found no JSON"),
    ("c.jsonl", json_rows(b"[1]"), "c.jsonl:2: expected a JSON object, found list."),
    ("c.jsonl", json_rows(b"[" * 100_000), "c.jsonl:2: expected a JSON object, found no JSON"),
    (
        "c.jsonl",
        json_rows(b'{"source": "x", "fr": 1}'),
        "c.jsonl:2: expected a text called 'target', found NoneType (fields: source, fr).",
    ),
]


@pytest.mark.parametrize(("name", "content", "message"), BAD)
def test_a_bad_line_is_refused_by_file_and_line(tmp_path, name, content, message):
    with pytest.raises(DataError) as caught:
        list(Corpus(CorpusConfig(path=write(tmp_path / name, content))))
    assert message in str(caught.value)
    assert str(caught.value).endswith('Fix the line, or skip such lines with data.on_bad_line = "skip".')


@pytest.mark.parametrize(("name", "content", "message"), BAD)
def test_or_skipped_and_counted(tmp_path, name, content, message):  # noqa: ARG001
    corpus = Corpus(CorpusConfig(path=write(tmp_path / name, content)), on_bad_line="skip")
    for _ in range(2):  # counted anew each time
        assert list(corpus) == [Pair("a", "b"), Pair("c", "d")]
        assert corpus.skipped == {"bad": 1}


@pytest.mark.parametrize("on_bad_line", ["refuse", "skip"])
@pytest.mark.parametrize(("left", "right", "short"), [("a\nb\n", "x\n", "c.fr"), ("a\n", "x\ny\n", "c.en")])
def test_parallel_files_of_different_length_are_always_refused(tmp_path, left, right, short, on_bad_line):
    config = CorpusConfig(source=write(tmp_path / "c.en", left), target=write(tmp_path / "c.fr", right))
    with pytest.raises(DataError, match=rf":2: .*{short} has no line 2; it ends after 1"):
        list(Corpus(config, on_bad_line=on_bad_line))


def test_a_bad_line_of_a_parallel_pair_leaves_the_rest_aligned(tmp_path):
    config = CorpusConfig(source=write(tmp_path / "c.en", "a\n\nc\n"), target=write(tmp_path / "c.fr", "x\ny\nz\n"))
    assert list(Corpus(config, on_bad_line="skip")) == [Pair("a", "x"), Pair("c", "z")]
    with pytest.raises(DataError, match=r"c\.en:2: expected text on both sides, found an empty source \(this file or"):
        list(Corpus(config))


def test_a_line_without_end_does_not_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("regard.text.lines._LONGEST_LINE", 64)
    path = write(tmp_path / "c.tsv", b"a\tb\n" + b"x" * 1000 + b"\ny\tz\n")
    assert list(Corpus(CorpusConfig(path=path), on_bad_line="skip")) == [Pair("a", "b"), Pair("y", "z")]
    with pytest.raises(DataError, match=r"c\.tsv:2: expected at most 64 bytes"):
        list(Corpus(CorpusConfig(path=path)))


def test_damaged_and_missing_files_are_named(tmp_path):
    whole = gzip.compress(tsv(PAIRS * 500).encode())
    (tmp_path / "cut.tsv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"cut\.tsv\.gz:\d+: the gzip file is damaged or cut off"):
        list(Corpus(CorpusConfig(path=str(tmp_path / "cut.tsv.gz"))))
    (tmp_path / "plain.tsv.gz").write_bytes(b"a\tb\n")
    with pytest.raises(DataError, match="damaged"):
        list(Corpus(CorpusConfig(path=str(tmp_path / "plain.tsv.gz"))))
    with pytest.raises(DataError, match=r"no corpus file .*nowhere\.tsv"):
        Corpus(CorpusConfig(path="nowhere.tsv"))


def test_the_content_hash_sees_any_change_and_no_rename(tmp_path):
    a = Corpus(CorpusConfig(path=write(tmp_path / "a.tsv", "a\tb\n"))).content_hash()
    b = Corpus(CorpusConfig(path=write(tmp_path / "b.tsv", "a\tb\n"))).content_hash()
    c = Corpus(CorpusConfig(path=write(tmp_path / "c.tsv", "a\tc\n"))).content_hash()
    assert a == b != c


@pytest.mark.parametrize("on_bad_line", ["refuse", "skip"])
def test_a_line_that_never_ends_is_refused_soon(tmp_path, monkeypatch, on_bad_line):
    monkeypatch.setattr("regard.text.lines._LONGEST_LINE", 64)
    monkeypatch.setattr("regard.text.lines._ENDLESS", 1000)
    path = write(tmp_path / "c.tsv", b"a\tb\n" + b"x" * 10**6)
    with pytest.raises(DataError, match=r"c\.tsv:2: this line has no end within 1,000 bytes; a line may have 64"):
        list(Corpus(CorpusConfig(path=path), on_bad_line=on_bad_line))


def test_a_gzip_bomb_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr("regard.text.lines._ALWAYS_EXPANDED", 10_000)
    path = write(tmp_path / "bomb.tsv.gz", b"a\tb\n" * 10**6)
    corpus = iter(Corpus(CorpusConfig(path=path)))
    assert len(list(islice(corpus, 2000))) == 2000
    with pytest.raises(DataError, match=r"bomb\.tsv\.gz: the first [\d,]+ bytes of it have grown to more than [\d,]+,"):
        all(islice(corpus, 5 * 10**5))
