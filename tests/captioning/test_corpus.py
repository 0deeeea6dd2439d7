"""Reading captions: every form, and every kind of bad entry by its place."""

from __future__ import annotations

import gzip
import json

import pytest

from regard.captioning.corpus import CaptionCorpus, Example
from regard.errors import DataError


def write(path, content):
    raw = content if isinstance(content, bytes) else content.encode("utf-8")
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)
    return path


def json_lines(*rows):
    return "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)


def coco(images, annotations):
    return json.dumps({"info": {}, "images": images, "annotations": annotations})


GOOD = [{"image": "a.jpg", "captions": ["a dog", " a cat "]}, {"image": "sub/b.png", "captions": ["snow"]}]
IMAGES = [{"id": 7, "file_name": "a.jpg"}, {"id": 8, "file_name": "b.jpg"}]


@pytest.mark.parametrize("name", ["c.jsonl", "c.jsonl.gz", "c.ndjson"])
def test_json_lines_are_relative_to_their_file(tmp_path, name):
    corpus = CaptionCorpus(write(tmp_path / name, json_lines(*GOOD)))
    expected = [Example(tmp_path / "a.jpg", ("a dog", "a cat")), Example(tmp_path / "sub" / "b.png", ("snow",))]
    assert list(corpus) == expected == list(corpus)


def test_an_absolute_path_stays(tmp_path):
    row = {"image": str(tmp_path / "far" / "a.jpg"), "captions": ["a dog"]}
    (example,) = CaptionCorpus(write(tmp_path / "c.jsonl", json_lines(row)))
    assert example.image == tmp_path / "far" / "a.jpg"


KAGGLE = 'image,caption\na.jpg,A dog .\nb.jpg,Snow\na.jpg,"A dog , and a ""cat"" ."\n'
TABLE = [("a.jpg", ("A dog .", 'A dog , and a "cat" .')), ("b.jpg", ("Snow",))]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("captions.txt", KAGGLE),
        ("captions.csv.gz", KAGGLE),
        ("c.csv", "\ufeff" + KAGGLE.replace("\n", "\r\n")),
        ("c.csv", 'Caption,id,Image\nA dog .,1,a.jpg\nSnow,2,b.jpg\n"A dog , and a ""cat"" .",3,a.jpg\n'),
        ("c.tsv", 'image\tcaption\na.jpg\tA dog .\nb.jpg\tSnow\na.jpg\tA dog , and a "cat" .\n'),
        ("Flickr8k.token.txt", 'a.jpg#0\tA dog .\nb.jpg#0\tSnow\na.jpg#1\tA dog , and a "cat" .\n'),
    ],
)
def test_tables_put_the_captions_of_a_photograph_together(tmp_path, name, content):
    assert list(CaptionCorpus(write(tmp_path / name, content))) == [Example(tmp_path / i, c) for i, c in TABLE]


def test_coco(tmp_path):
    annotations = [{"image_id": 8, "caption": "snow", "id": 1}, {"image_id": 7, "caption": "a dog"}]
    annotations.append({"image_id": 8, "caption": "ice"})
    corpus = CaptionCorpus(write(tmp_path / "c.json", coco(IMAGES, annotations)))
    assert list(corpus) == [Example(tmp_path / "b.jpg", ("snow", "ice")), Example(tmp_path / "a.jpg", ("a dog",))]


def test_where_the_photographs_are(tmp_path):
    file = write(tmp_path / "captions.txt", KAGGLE)
    lines = write(tmp_path / "c.jsonl", json_lines(GOOD[0]))
    (tmp_path / "Images").mkdir()
    (tmp_path / "elsewhere").mkdir()
    assert next(iter(CaptionCorpus(file))).image == tmp_path / "Images" / "a.jpg"
    assert next(iter(CaptionCorpus(tmp_path))).image == tmp_path / "Images" / "a.jpg"  # the folder names its file
    assert next(iter(CaptionCorpus(file, images=tmp_path / "elsewhere"))).image == tmp_path / "elsewhere" / "a.jpg"
    assert next(iter(CaptionCorpus(lines))).image == tmp_path / "a.jpg"
    with pytest.raises(DataError, match="no folder of photographs nowhere"):
        CaptionCorpus(file, images="nowhere")


def test_a_folder_must_hold_one_captions_file(tmp_path):
    with pytest.raises(DataError, match=r"should hold one file called captions\.\*, found none"):
        CaptionCorpus(tmp_path)
    write(tmp_path / "captions.txt", KAGGLE)
    write(tmp_path / "captions.csv", KAGGLE)
    with pytest.raises(DataError, match=r"found captions\.csv, captions\.txt"):
        CaptionCorpus(tmp_path)
    with pytest.raises(DataError, match=r"no captions file .*nowhere\.jsonl"):
        CaptionCorpus(tmp_path / "nowhere.jsonl")


def table(middle):
    return f"image,caption\na.jpg,a dog\n{middle}\nb.jpg,snow\n"


def tokens(middle):
    return f"a.jpg#0\ta dog\n{middle}\nb.jpg#0\tsnow\n"


def rows(middle):
    return json_lines({"image": "a.jpg", "captions": ["a dog"]}, middle, {"image": "b.jpg", "captions": ["snow"]})


def annotated(middle):
    return coco(IMAGES, [{"image_id": 7, "caption": "a dog"}, middle, {"image_id": 8, "caption": "snow"}])


BAD = [
    ("c.jsonl", rows("{x}"), "c.jsonl:2: expected a JSON object, found no JSON"),
    ("c.jsonl", rows("[1]"), "c.jsonl:2: expected a JSON object, found list."),
    ("c.jsonl", rows({"captions": ["x"]}), "c.jsonl:2: expected a path called 'image', found none."),
    ("c.jsonl", rows({"image": 7, "captions": ["x"]}), "c.jsonl:2: expected a path called 'image', found 7."),
    (
        "c.jsonl",
        rows({"image": "x.jpg", "caption": "x"}),
        "c.jsonl:2: expected a list called 'captions', found none (fields: image, caption).",
    ),
    (
        "c.jsonl",
        rows({"image": "x.jpg", "captions": []}),
        "c.jsonl:2: expected a list called 'captions', found an empty",
    ),
    ("c.jsonl", rows({"image": "x.jpg", "captions": "x"}), "c.jsonl:2: expected a list called 'captions', found 'x'"),
    ("c.jsonl", rows({"image": "x.jpg", "captions": ["x", " "]}), "c.jsonl:2: expected a caption, found an empty one."),
    ("c.jsonl", rows({"image": "x.jpg", "captions": [None]}), "c.jsonl:2: expected a caption, found none."),
    ("c.csv", table("x.jpg,a,b"), "c.csv:3: expected 2 fields, found 3."),
    ("c.csv", table("x.jpg"), "c.csv:3: expected 2 fields, found 1."),
    ("c.csv", table(""), "c.csv:3: expected 2 fields, found 0."),
    ("c.csv", table("x.jpg, "), "c.csv:3: expected a caption, found an empty one."),
    ("c.csv", table(",x"), "c.csv:3: expected the name of a photograph, found an empty one."),
    ("c.csv", table('x.jpg,"open'), "c.csv:3: expected fields with commas between, found a line that is no CSV"),
    ("c.token.txt", tokens("x.jpg a dog"), "c.token.txt:2: expected name.jpg#0<TAB>caption, found 'x.jpg a dog'."),
    ("c.token.txt", tokens("x.jpg#0\t"), "c.token.txt:2: expected a caption, found an empty one."),
    (
        "c.json",
        annotated({"image_id": 9, "caption": "x"}),
        "c.json, annotations[1]: expected the id of an image, found",
    ),
    (
        "c.json",
        annotated({"image_id": [], "caption": "x"}),
        "c.json, annotations[1]: expected the id of an image, found",
    ),
    ("c.json", annotated({"image_id": 7}), "c.json, annotations[1]: expected a caption, found none."),
    ("c.json", annotated(7), "c.json, annotations[1]: expected an annotation with an image_id, found 7."),
]


@pytest.mark.parametrize(("name", "content", "message"), BAD)
def test_a_bad_entry_is_refused_by_its_place(tmp_path, name, content, message):
    with pytest.raises(DataError) as caught:
        list(CaptionCorpus(write(tmp_path / name, content)))
    assert message in str(caught.value)
    assert str(caught.value).endswith('Fix it, or skip such entries with data.on_bad = "skip".')


@pytest.mark.parametrize(("name", "content", "message"), BAD)
def test_or_skipped_and_counted(tmp_path, name, content, message):  # noqa: ARG001
    corpus = CaptionCorpus(write(tmp_path / name, content), on_bad="skip")
    for _ in range(2):  # counted anew each time
        assert list(corpus) == [Example(tmp_path / "a.jpg", ("a dog",)), Example(tmp_path / "b.jpg", ("snow",))]
        assert corpus.skipped == {"bad": 1}


def test_a_bad_image_of_coco_takes_its_captions_along(tmp_path):
    content = coco([{"id": 7}, IMAGES[1]], [{"image_id": 7, "caption": "x"}, {"image_id": 8, "caption": "snow"}])
    file = write(tmp_path / "c.json", content)
    with pytest.raises(DataError, match=r"c\.json, images\[0\]: expected a text called 'file_name', found none"):
        list(CaptionCorpus(file))
    corpus = CaptionCorpus(file, on_bad="skip")
    assert list(corpus) == [Example(tmp_path / "b.jpg", ("snow",))]
    assert corpus.skipped == {"bad": 2}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("c.csv", "a.jpg,a dog\n", r"c\.csv:1: expected a header with the columns image and caption, or a line"),
        ("c.csv", b"\xff\xfe\n", r"c\.csv:1: expected UTF-8, found the byte 0xff"),
        ("c.json", "{", r"c\.json is not JSON"),
        ("c.json", "[]", r"c\.json: expected an object with images and annotations \(COCO\)"),
        ("c.json", '{"images": []}', r"c\.json: expected a list called 'annotations' \(COCO\), found none"),
    ],
)
def test_what_no_policy_can_mend(tmp_path, name, content, message):
    with pytest.raises(DataError, match=message):
        list(CaptionCorpus(write(tmp_path / name, content), on_bad="skip"))


def test_the_content_hash_sees_any_change_and_no_rename(tmp_path):
    first = CaptionCorpus(write(tmp_path / "a.jsonl", json_lines(*GOOD))).content_hash()
    assert CaptionCorpus(write(tmp_path / "b.jsonl", json_lines(*GOOD))).content_hash() == first
    assert CaptionCorpus(write(tmp_path / "c.jsonl", json_lines(GOOD[0]))).content_hash() != first
