"""Lines of files that people wrote: numbered, decoded, hashed, and refused with a reason."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from regard.errors import DataError
from regard.text.lines import BadLine, ContentHash, decoded, json_object, numbered_lines


@pytest.mark.parametrize("name", ["lines.txt", "lines.txt.gz"])
def test_lines_are_numbered_and_lose_only_their_ends(tmp_path, name):
    content = "\ufeffone\r\ntwo\u2028still two\n\nfour".encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    lines = [(number, decoded(line)) for number, line in numbered_lines(tmp_path / name)]
    assert lines == [(1, "one"), (2, "two\u2028still two"), (3, ""), (4, "four")]


def test_what_is_no_line_of_text_or_json_says_why():
    with pytest.raises(BadLine, match="expected UTF-8, found the byte 0xff at column 3"):
        decoded(b"ab\xff")
    with pytest.raises(BadLine, match="expected a JSON object, found no JSON"):
        json_object("{")
    with pytest.raises(BadLine, match="expected a JSON object, found list"):
        json_object("[1]")
    assert json_object('{"a": 1}') == {"a": 1}


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(DataError, match="missing cannot be read: No such file"):
        list(numbered_lines(tmp_path / "missing"))


def test_a_digest_follows_the_content_and_is_kept_while_nothing_changes(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("ab")
    two.write_text("c")
    digest = ContentHash([one, two])
    first = digest()
    assert digest() == first
    one.write_text("a")
    two.write_text("bc")
    os.utime(one, (1, 1))
    assert digest() != first  # the same bytes in all, cut otherwise


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="no file that is there and cannot be read: not Linux")
def test_a_digest_of_a_file_that_cannot_be_read_names_it():
    with pytest.raises(DataError, match="/proc/self/mem cannot be read: Input/output error"):
        ContentHash([Path("/proc/self/mem")])()
