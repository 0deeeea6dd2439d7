"""Imports go one way: each room imports only rooms before it, no task another task, and no modules form a cycle."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

import regard

SOURCE = Path(regard.__file__).parent

# Rooms of one line stand side by side: they may import each other only where SIDE_BY_SIDE says so.
ORDER = (
    ("arrays", "errors", "files", "settings", "shape_types", "displayable"),
    ("attention", "computation", "scores", "masks", "normalizers", "positions", "local", "worked_examples"),
    ("kernels",),
    ("nn",),
    ("decoding", "search_options", "text"),
    ("training",),
    ("translation", "captioning", "inspection"),
    ("show",),
    ("demo", "explorer"),
    ("cli",),
)
SIDE_BY_SIDE = (0, 1, 4)  # the first lines are single files, and decoding needs the special tokens of text/
LATE = {  # what a room may import inside a function, though it comes later
    "attention": {"kernels", "show"},
    "computation": {"kernels"},
    "scores": {"kernels"},
    "local": {"kernels"},
    "displayable": {"show"},
    "text": {"show"},
    "translation": {"show"},
    "captioning": {"show"},
    "inspection": {"show"},
}
# a result's own .plot, .show and .html
LATE_FILES = {"results", "displayable", "attention", "attention_map", "faithfulness", "heads", "importance", "recorded"}
LINE = {room: number for number, rooms in enumerate(ORDER) for room in rooms}


class Import(NamedTuple):
    """Module ``importer`` imports module ``imported`` in line ``line``."""

    importer: str
    imported: str
    line: int
    late: bool
    """inside a function"""
    typing: bool
    """for annotations alone: it is never run"""

    def __str__(self) -> str:
        return f"{self.importer}:{self.line} imports {self.imported}"


def modules() -> dict[str, Path]:
    """Every module of the package by its name, without the leading ``regard.``."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(part for part in parts if part != "__init__")] = path
    return found


def room_of(module: str) -> str:
    return module.partition(".")[0]


def imports_of(module: str, tree: ast.Module, known: set[str]) -> Iterator[Import]:
    """The imports of this package in a module, and its uses of names that ``import regard`` loads lazily."""

    def walk(node: ast.AST, late: bool, typing: bool) -> Iterator[Import]:
        for name in _imported(node, known):
            yield Import(module, name, getattr(node, "lineno", 0), late, typing)
        late = late or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        guarded: list[ast.stmt] = []
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            guarded = node.body
        for child in ast.iter_child_nodes(node):
            yield from walk(child, late, typing or child in guarded)

    yield from walk(tree, False, False)


def _imported(node: ast.AST, known: set[str]) -> list[str]:
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        assert not node.level, "imports are absolute"
        names = [f"{node.module}.{alias.name}" for alias in node.names]
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "regard":
        names = [f"regard.{node.attr}"]
    else:
        return []
    found = []
    for name in names:
        inner = name.removeprefix("regard.")
        inner = regard._HOME.get(inner, inner)  # loaded lazily by ``import regard``
        while inner and inner not in known:  # a name inside a module
            inner = inner.rpartition(".")[0]
        if name.startswith("regard.") and inner:
            found.append(inner)
    return found


def every_import() -> list[Import]:
    found = modules()
    known = set(found) - {""}
    return [
        one
        for module, path in found.items()
        if module not in ("", "__main__")  # the public names, and the command's door: neither is imported by a room
        for one in imports_of(module, ast.parse(path.read_text(encoding="utf-8")), known)
    ]


def allowed(one: Import) -> bool:
    here, there = room_of(one.importer), room_of(one.imported)
    if here == there:
        return True
    if LINE[there] < LINE[here] or (LINE[there] == LINE[here] and LINE[here] in SIDE_BY_SIDE):
        return True
    if not one.late or there not in LATE.get(here, ()):
        return False
    return there != "show" or one.importer.rpartition(".")[2] in LATE_FILES


def test_every_room_has_its_place():
    rooms = {room_of(module) for module in modules()} - {"", "__main__"}
    assert rooms <= LINE.keys(), f"give {sorted(rooms - LINE.keys())} a place in ORDER"


@pytest.mark.parametrize("room", LINE)
def test_a_room_imports_only_rooms_before_it(room):
    wrong = [str(one) for one in every_import() if room_of(one.importer) == room and not allowed(one)]
    assert not wrong, "\n".join(wrong)


def test_no_modules_import_each_other_in_a_circle():
    graph: dict[str, set[str]] = {module: set() for module in modules()}
    for one in every_import():
        if not one.late and not one.typing and one.imported != one.importer:
            graph[one.importer].add(one.imported)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_the_public_names_load_nothing_by_themselves():
    tree = ast.parse((SOURCE / "__init__.py").read_text(encoding="utf-8"))
    known = set(modules()) - {""}
    assert all(one.typing for one in imports_of("regard", tree, known))


@pytest.mark.parametrize(
    ("importer", "line", "reason"),
    [
        ("nn.cells", "from regard.decoding import search", "a later room"),
        ("scores", "from regard.kernels import additive_scores", "a late import at the top"),
        ("translation.task", "def f():\n    from regard.show.figures import plot_map", "no result's own picture"),
        ("translation.task", "from regard.captioning.corpus import Example", "another task"),
        ("captioning.task", "from regard import translation", "another task, as a name of the package"),
        ("training.run", "from regard import Captioner", "a lazy name of the package, imported"),
        ("training.run", "import regard\nregard.Translator.load('en-fr')", "a lazy name of the package"),
        ("kernels.simd", "import regard.nn.cells", "a later room by a plain import"),
    ],
)
def test_what_goes_the_wrong_way_is_seen(importer, line, reason):
    found = list(imports_of(importer, ast.parse(line), set(modules()) - {""}))
    assert found, reason
    assert not all(map(allowed, found)), reason


def test_what_goes_the_right_way_is_not():
    for importer, line in (
        ("scores", "def f():\n    from regard.kernels import additive_scores"),
        ("translation.results", "def plot():\n    from regard.show.figures import plot_map"),
        ("training.directory", "import regard\nregard.__version__"),
        ("cli.attend", "import regard\nregard.attend([1], [[1]])"),
    ):
        found = list(imports_of(importer, ast.parse(line), set(modules()) - {""}))
        assert all(map(allowed, found))
