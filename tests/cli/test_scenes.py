from regard.captioning.corpus import CaptionCorpus
from regard.captioning.scenes import read_things
from tests.cli.test_attend import regard


def test_scenes_are_written_and_the_file_named(tmp_path):
    printed = regard("scenes", str(tmp_path / "new"), "--count", "3", "--seed", "4").strip()
    assert printed == str(tmp_path / "new" / "captions.jsonl")
    assert [example.image.is_file() for example in CaptionCorpus(printed)] == [True] * 3
    assert len(read_things(printed)) == 3


def test_what_cannot_be_drawn_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    assert "cannot write the scenes" in regard("scenes", str(tmp_path / "file" / "x"), code=2)
    assert "at least 1; got 0" in regard("scenes", str(tmp_path / "y"), "--count", "0", code=2)
    assert "seed must be at least 0; got -1" in regard("scenes", str(tmp_path / "z"), "--seed", "-1", code=2)
