"""Features on disk: the same as computed, made once, gone on with, and never lost to one bad file."""

from __future__ import annotations

import os
import shutil
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from regard import files
from regard.captioning import features as module
from regard.captioning.backbones import load_backbone
from regard.captioning.features import features_of
from regard.captioning.photos import open_photo
from regard.errors import DataError, InputError


class Means:
    """A backbone whose cells are the mean colours of their parts; it counts what it is asked for."""

    name, identity, dim, rows, columns, trainable = "means", "means 1", 3, 2, 4, False

    def __init__(self, fail_after=None):
        self.seen, self.prepared, self.fail_after = 0, 0, fail_after

    def prepare(self, photo):
        self.prepared += 1
        return torch.from_numpy(np.asarray(photo.resize((8, 4), Image.Resampling.BOX), np.float32)).permute(2, 0, 1)

    def grid(self, batch):
        if self.fail_after is not None and self.seen + len(batch) > self.fail_after:
            raise KeyboardInterrupt
        self.seen += len(batch)
        return torch.nn.functional.avg_pool2d(batch, 2).permute(0, 2, 3, 1)


def photos(folder, count, seed=0):
    generator = np.random.default_rng(seed)
    paths = [folder / f"{number}.png" for number in range(count)]
    for path in paths:
        Image.fromarray(generator.integers(0, 256, (12, 20, 3), np.uint8)).save(path)
    return paths


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(module, "_PART", 4)
    monkeypatch.setattr(module, "_BATCH", 2)
    monkeypatch.setattr(module, "_AHEAD", 3)


def expected(paths, backbone):
    return backbone.grid(torch.stack([backbone.prepare(open_photo(path)) for path in paths])).flatten(1, 2)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("count", [1, 4, 11])
def test_features_are_those_of_the_backbone_in_order(tmp_path, count):
    paths = photos(tmp_path, count)
    features = features_of(paths, Means(), tmp_path / "cache")
    again = features_of(paths[::-1], Means(), tmp_path / "cache")
    assert len(features) == count
    assert features.good.all()
    assert features[0].shape == (8, 3)
    assert features[0].dtype == torch.float32
    torch.testing.assert_close(features.rows(range(count)), expected(paths, Means()), rtol=1e-3, atol=0)
    torch.testing.assert_close(features.rows(torch.arange(count).flip(0)), again.rows(range(count)), rtol=0, atol=0)


@pytest.mark.usefixtures("small_parts")
def test_nothing_is_computed_twice(tmp_path):
    paths = photos(tmp_path, 7)
    first, second, third = Means(), Means(), Means()
    features_of(paths, first, tmp_path / "cache")
    features_of([*paths, *paths], second, tmp_path / "cache")
    shutil.copy(paths[0], tmp_path / "copy.jpg")  # the content counts, not the name
    more = photos(tmp_path, 3, seed=1)
    features_of([tmp_path / "copy.jpg", *more, *more], third, tmp_path / "cache")
    assert (first.seen, second.seen, third.seen) == (7, 0, 3)
    assert second.prepared == 0  # not even decoded


@pytest.mark.usefixtures("small_parts")
def test_a_changed_photograph_is_computed_anew(tmp_path):
    paths = photos(tmp_path, 2)
    before = features_of(paths, Means(), tmp_path / "cache").rows([0, 1])
    photos(tmp_path, 1, seed=5)
    backbone = Means()
    after = features_of(paths, backbone, tmp_path / "cache").rows([0, 1])
    assert backbone.seen == 1
    assert not torch.equal(before[0], after[0])
    assert torch.equal(before[1], after[1])


@pytest.mark.usefixtures("small_parts")
def test_another_backbone_has_features_of_its_own(tmp_path):
    paths = photos(tmp_path, 3)
    features_of(paths, Means(), tmp_path / "cache")
    other = Means()
    other.identity = "means 2"
    features_of(paths, other, tmp_path / "cache")
    assert other.seen == 3


@pytest.mark.usefixtures("small_parts")
def test_interrupted_it_goes_on_where_it_stopped(tmp_path):
    paths = photos(tmp_path, 11)
    with pytest.raises(KeyboardInterrupt):
        features_of(paths, Means(fail_after=7), tmp_path / "cache")
    rest = Means()
    features = features_of(paths, rest, tmp_path / "cache")
    assert rest.seen == 11 - 6
    torch.testing.assert_close(features.rows(range(11)), expected(paths, Means()), rtol=1e-3, atol=0)


@pytest.mark.usefixtures("small_parts")
def test_killed_it_loses_the_part_it_was_at_and_no_more(tmp_path):
    """What a process leaves that gets no chance to tidy up: parts, and a directory that never got its name."""
    paths = photos(tmp_path, 8)
    features_of(paths, Means(), tmp_path / "cache")
    (directory,) = (tmp_path / "cache").iterdir()
    last = sorted(directory.glob("part-*"))[-1]
    last.rename(directory / f"{last.name}.partial-{os.uname().nodename}-999999999")
    rest = Means()
    features = features_of(paths, rest, tmp_path / "cache")
    assert rest.seen == 4
    torch.testing.assert_close(features.rows(range(8)), expected(paths, Means()), rtol=1e-3, atol=0)
    assert not list(directory.glob("*.partial-*"))


@pytest.mark.usefixtures("small_parts")
def test_what_another_machine_is_still_writing_is_let_be(tmp_path):
    paths = photos(tmp_path, 4)
    features_of(paths, Means(), tmp_path / "cache")
    (part,) = (tmp_path / "cache").glob("*/part-*")
    theirs = part.rename(part.with_name(f"{part.name}.partial-elsewhere-7"))
    rest = Means()
    features_of(paths, rest, tmp_path / "cache")
    assert rest.seen == 4
    assert theirs.is_dir()


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("name", ["features.npy", "digests.npy"])
@pytest.mark.parametrize("kept", [0, 40, 150])
def test_a_part_that_a_disk_damaged_is_computed_anew(tmp_path, name, kept):
    paths = photos(tmp_path, 8)
    features_of(paths, Means(), tmp_path / "cache")
    file = sorted((tmp_path / "cache").glob(f"*/part-*/{name}"))[0]
    file.write_bytes(file.read_bytes()[:kept])
    rest = Means()
    features = features_of(paths, rest, tmp_path / "cache")
    assert rest.seen == 4
    torch.testing.assert_close(features.rows(range(8)), expected(paths, Means()), rtol=1e-3, atol=0)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("name", ["features.npy", "digests.npy", "files.json"])
def test_a_changed_bit_of_a_part_is_noticed_and_told(tmp_path, name):
    paths, messages = photos(tmp_path, 8), []
    features_of(paths, Means(), tmp_path / "cache")
    file = sorted((tmp_path / "cache").glob(f"*/part-*/{name}"))[0]
    content = bytearray(file.read_bytes())
    content[-3] ^= 1
    file.write_bytes(content)
    rest = Means()
    features = features_of(paths, rest, tmp_path / "cache", report=messages.append)
    assert rest.seen == 4
    assert messages[0] == f"{file.parent}, features of photographs, is damaged; computing them anew"
    torch.testing.assert_close(features.rows(range(8)), expected(paths, Means()), rtol=1e-3, atol=0)
    features_of(paths, Means(), tmp_path / "cache", report=messages.clear)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("name", ["features.npy", "digests.npy"])
def test_an_archive_in_place_of_an_array_is_a_damaged_part(tmp_path, name):
    paths = photos(tmp_path, 4)
    features_of(paths, Means(), tmp_path / "cache")
    (file,) = (tmp_path / "cache").glob(f"*/part-*/{name}")
    with file.open("wb") as opened:
        np.savez(opened, a=np.zeros(3))
    rest = Means()
    features_of(paths, rest, tmp_path / "cache")
    assert rest.seen == 4


@pytest.mark.usefixtures("small_parts")
def test_a_part_of_before_digests_serves_unless_its_features_are_infinite(tmp_path):
    paths = photos(tmp_path, 4)
    features_of(paths, Means(), tmp_path / "cache")
    (file,) = (tmp_path / "cache").glob("*/part-*/features.npy")
    file.with_name("files.json").unlink()
    again = Means()
    features_of(paths, again, tmp_path / "cache")
    assert again.seen == 0
    file.write_bytes(file.read_bytes()[:-2] + b"\xff\x7f")
    features_of(paths, again, tmp_path / "cache")
    assert again.seen == 4


def _made_by_another(publish):
    """Another run publishes the same part a moment before this one does."""

    def late(partial, part):
        shutil.copytree(partial, part)
        publish(partial, part)

    return late


def _taken_away(publish):
    """Another run finds the part damaged, as it thinks, and removes it."""

    def gone(partial, part):
        publish(partial, part)
        shutil.rmtree(part)

    return gone


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("other", [_made_by_another, _taken_away])
def test_runs_that_share_a_cache_may_fill_it_at_once(tmp_path, monkeypatch, other):
    paths = photos(tmp_path, 11)
    monkeypatch.setattr(files, "publish", other(files.publish))
    features = features_of(paths, Means(), tmp_path / "cache")
    torch.testing.assert_close(features.rows(range(11)), expected(paths, Means()), rtol=1e-3, atol=0)
    assert not list((tmp_path / "cache").glob("*/*.partial-*"))


@pytest.mark.usefixtures("small_parts")
def test_a_part_that_another_run_made_meanwhile_is_left_in_its_place(tmp_path):
    paths = photos(tmp_path, 4)
    places: list[Any] = []

    class Slow(Means):
        def grid(self, batch):
            if not self.seen:
                features_of(paths, Means(), tmp_path / "cache")
                places.extend(part.stat().st_ino for part in (tmp_path / "cache").glob("*/part-*"))
            return super().grid(batch)

    features = features_of(paths, Slow(), tmp_path / "cache")
    assert [part.stat().st_ino for part in (tmp_path / "cache").glob("*/part-*")] == places
    torch.testing.assert_close(features.rows(range(4)), expected(paths, Means()), rtol=1e-3, atol=0)


@pytest.mark.usefixtures("small_parts")
def test_a_bad_photograph_is_left_out_and_reported(tmp_path):
    paths = photos(tmp_path, 5)
    paths[1].write_bytes(b"no photograph")
    paths[3].unlink()
    messages: list[str] = []
    features = features_of(paths, Means(), tmp_path / "cache", report=messages.append, on_bad="skip")
    assert features.good.tolist() == [True, False, True, False, True]
    torch.testing.assert_close(features.rows([0, 2, 4]), expected(paths[::2], Means()), rtol=1e-3, atol=0)
    assert [text for text in messages if "left out" in text and "1.png" in text]
    assert [text for text in messages if "left out: there is no photograph" in text and "3.png" in text]
    with pytest.raises(InputError, match=r"photograph 3 has no features: there is no photograph"):
        features[3]


def test_many_bad_photographs_are_counted(tmp_path):
    messages: list[str] = []
    paths = [tmp_path / f"{number}.png" for number in range(25)]
    features = features_of(paths, Means(), tmp_path / "cache", report=messages.append, on_bad="skip")
    assert not features.good.any()
    assert messages[-1] == "left out: 15 more photographs that cannot be read"


@pytest.mark.usefixtures("small_parts")
def test_or_it_ends_there_with_what_was_computed_kept(tmp_path):
    paths = photos(tmp_path, 9)
    paths[8].write_bytes(b"")
    with pytest.raises(DataError, match=r'8\.png is empty.*data\.on_bad = "skip"'):
        features_of(paths, Means(), tmp_path / "cache")
    rest = Means()
    features_of(paths[:8], rest, tmp_path / "cache")
    assert rest.seen == 0


def test_none_are_asked_for(tmp_path):
    assert len(features_of([], Means(), tmp_path / "cache")) == 0


def test_of_a_trainable_backbone_the_inputs_are_kept(tmp_path):
    paths = photos(tmp_path, 3)
    cnn = load_backbone("small-cnn")
    features = features_of(paths, cnn, tmp_path / "cache")
    prepared = torch.stack([cnn.prepare(open_photo(path)) for path in paths])
    assert features[1].shape == (3, 64, 64)
    torch.testing.assert_close(features.rows([0, 1, 2]), prepared, rtol=0, atol=2**-11)
    assert cnn.grid(features.rows([0, 1])).shape == (2, 4, 4, 96)


def test_half_precision_holds_what_efficientnet_gives(tmp_path):
    paths = photos(tmp_path, 2)
    backbone = load_backbone("efficientnet-lite0")
    kept, computed = features_of(paths, backbone, tmp_path / "cache").rows([0, 1]), expected(paths, backbone)
    # Half of the last of 11 bits; what is below 2**-14 has a fixed step of 2**-24.
    torch.testing.assert_close(kept, computed, rtol=2**-11, atol=2e-5)


def test_more_than_half_precision_can_hold_is_cut_not_infinite(tmp_path):
    paths = photos(tmp_path, 1)
    backbone = Means()
    backbone.grid = lambda batch: torch.full((len(batch), 2, 4, 3), 1e6)
    assert features_of(paths, backbone, tmp_path / "cache")[0].isfinite().all()
