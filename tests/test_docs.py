"""Every Python block of the documentation runs, in order, page by page."""

import importlib
import inspect
import re
from pathlib import Path

import pytest
import torch

import regard
from regard.nn import SCORES
from regard.translation.batches import padded_batch
from regard.translation.model import build_model
from regard.translation.model_config import RNNConfig

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))
TEXTS = [*PAGES, *sorted(ROOT.glob("*.md")), *sorted((ROOT / "benchmarks").rglob("*.md"))]
A_PATH = re.compile(r"`([\w.-]+(?:/[\w.-]+)*(?:/|\.(?:py|js|css|html|md|json|toml|cff)))`")


@pytest.fixture(autouse=True)
def _scores_as_they_were():
    before = dict(SCORES)
    yield
    SCORES.clear()
    SCORES.update(before)


def run(page: Path) -> None:
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.S):
        exec(compile(block, str(page), "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(page)


def test_a_new_kind_is_known_to_run_files_by_its_name():
    with pytest.raises(ValueError, match="no attention is called 'nearness'"):
        RNNConfig(attention="nearness")
    run(next(page for page in PAGES if page.name == "kinds.md"))
    config = RNNConfig(attention="nearness", embedding=8, encoder_size=4, decoder_size=8)
    model = build_model(config, 20, 20, generator=torch.Generator().manual_seed(0))
    assert float(model(padded_batch([[5, 6]], [[7]])).nll) > 0


def test_the_reference_is_what_the_package_says(monkeypatch):
    docs = ROOT / "docs"
    monkeypatch.syspath_prepend(str(docs))
    reference = importlib.import_module("reference")

    assert (docs / "reference.md").read_text() == reference.page(), "run python docs/reference.py"
    page = (docs / "reference.md").read_text()
    rooms = {name for name in regard.__all__ if inspect.ismodule(getattr(regard, name))}
    assert {room.__name__.removeprefix("regard.") for room in reference.ROOMS} == rooms
    for name in set(regard.__all__) - rooms - {"__version__"}:
        assert f"### `regard.{name}" in page


def test_every_picture_and_file_that_the_pages_name_is_there_and_pictures_are_small():
    for page in TEXTS:
        text = page.read_text()
        for link in re.findall(r"\]\((?!http)([^)#]+)\)", text) + re.findall(r'src="([^"]+)"', text):
            assert (page.parent / link).exists(), f"{page.name} links to {link}"
        for path in re.findall(r"`((?:examples|docs|benchmarks|src|tests)/[\w./-]+)`", text):
            assert (ROOT / path).exists(), f"{page.name} names {path}"
    pictures = list((ROOT / "docs" / "pictures").iterdir())
    assert sum(picture.stat().st_size for picture in pictures) < 1_500_000


def test_the_map_of_the_code_names_only_what_is_there():
    named = A_PATH.findall((ROOT / "docs" / "architecture.md").read_text())
    assert len(named) > 80
    missing = {path for path in named if not any((home / path).exists() for home in (ROOT, ROOT / "src" / "regard"))}
    assert sorted(missing) == []


def test_the_map_of_the_code_has_every_room():
    text = (ROOT / "docs" / "architecture.md").read_text()
    package = ROOT / "src" / "regard"
    folders = [path.name for path in package.iterdir() if path.is_dir() and path.name != "__pycache__"]
    for room in folders:
        assert f"`{room}/`" in text, f"docs/architecture.md does not say what {room}/ is for"


def test_version_changelog_and_citation_name_one_release():
    changelog = (ROOT / "CHANGELOG.md").read_text()
    releases = re.findall(r"^## (.+)$", changelog, re.M)
    assert releases[0] == "Unreleased"
    version, _, date = releases[1].partition(" - ")
    assert version == regard.__version__
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"version: {version}\n" in citation
    assert f"date-released: {date}\n" in citation
