"""Shapes in signatures: they are checked while these tests run, and cost nothing otherwise."""

from __future__ import annotations

import importlib
import re
import typing
from pathlib import Path

import numpy as np
import pytest
import torch
from jaxtyping import TypeCheckError

import regard
from regard import computation, local, normalizers, scores
from regard.errors import ShapeError
from regard.nn import reinforce
from tests.shapes import MODULES
from tests.test_public_names import loaded_after

PACKAGE = Path(regard.__file__).parent


@pytest.mark.parametrize(
    "call",
    [
        lambda: scores._tanh_pairs(np.ones((2, 3)), np.ones((4, 1))),  # a width of 1 would pass unseen
        lambda: normalizers._one_hot(np, np.zeros(3, int), np.ones((2, 4))),
        lambda: computation.checked_scores(np.ones((2, 4), int), np.ones((2, 3)), np.ones((4, 3))),  # no floats
        lambda: local._centers(np.ones((2, 3)), np.ones((4, 3)), np.ones((5, 3)), [0.0, 1.0]),
        lambda: reinforce._from_here_on(torch.ones(2, 3, 4)),
        lambda: normalizers._hard(np.ones((2, 3), int)),
    ],
)
def test_what_a_function_takes_without_a_word_must_fit_its_signature(call):
    with pytest.raises(TypeCheckError, match="Type-check error"):
        call()


def test_what_a_function_gives_must_fit_its_signature(monkeypatch):
    monkeypatch.setattr(scores, "array_namespace", lambda *_: type("Wrong", (), {"tanh": lambda x: x[..., :-1]}))
    with pytest.raises(TypeCheckError, match="return value"):
        scores._tanh_pairs(np.ones((2, 3)), np.ones((4, 3)))


def test_a_function_may_refuse_by_an_error_of_its_own():
    with pytest.raises(ShapeError, match="compares vectors of one width"):
        scores.Dot()(np.ones((2, 3)), np.ones((4, 5)))


def test_every_module_with_shapes_is_checked():
    with_shapes = [
        path for path in PACKAGE.rglob("*.py") if re.search(r"^from regard.shape_types import", path.read_text(), re.M)
    ]
    names = {".".join(("regard", *path.relative_to(PACKAGE).with_suffix("").parts)) for path in with_shapes}
    assert names == set(MODULES)
    for name in MODULES:
        assert type(importlib.import_module(name).__loader__).__module__.startswith("jaxtyping"), name


def test_users_need_no_jaxtyping_and_can_still_read_the_hints():
    code = "import typing, regard; [typing.get_type_hints(f) for f in (regard.scores.Dot.__call__, regard.softmax)]"
    assert "jaxtyping" not in loaded_after(code)
    assert typing.get_type_hints(scores.Dot.__call__)["query"].dim_str == "*#b q d"
