"""Results on stdout and as pictures."""

from __future__ import annotations

import json

import pytest

from regard.cli.written import check_plot, draw, write_result
from regard.errors import InputError
from tests.translation.untrained import RNN, untrained


@pytest.fixture(scope="module")
def found():
    return untrained(**RNN).translate("the red cat", beam=2, n_best=2, max_length=4)


def test_texts_are_written_a_line_each(found, capsys):
    write_result(found, as_json=False, needed=False)
    assert capsys.readouterr().out == f"{found.text}\n{found.alternatives[0].text}\n"


def test_json_has_what_was_needed_where_it_is_asked_for(found, capsys):
    write_result(found, as_json=True, needed=False)
    write_result(found, as_json=True, needed=True)
    plain, more = map(json.loads, capsys.readouterr().out.splitlines())
    assert plain == found.to_json()
    assert more.pop("needed") == found.needed().round(6).tolist()
    assert more == plain


def test_an_empty_line_needed_nothing(capsys):
    write_result(untrained(**RNN).translate(""), as_json=True, needed=True)
    assert json.loads(capsys.readouterr().out)["needed"] == []


def test_pictures_are_told_by_their_ending(found, tmp_path, capsys):
    for name, begin in (("map.png", b"\x89PNG"), ("map.html", b"<!doctype html>")):
        draw(found, tmp_path / name, needed=True)
        assert (tmp_path / name).read_bytes()[:15].lower().startswith(begin.lower())
        assert capsys.readouterr().err == f"wrote {tmp_path / name}\n"
    with pytest.raises(InputError, match=r"map\.bmp"):
        check_plot(tmp_path / "map.bmp")
