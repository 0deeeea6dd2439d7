"""The hierarchy of errors is the one that is drawn, and errors suggest the nearest name."""

from __future__ import annotations

import re

import pytest

from regard import errors
from regard.errors import RegardError, UnknownName, choose, did_you_mean


def test_the_drawing_is_the_hierarchy():
    drawn = re.findall(r"^(│   )?[├└]── (\w+)", errors.__doc__ or "", re.M)
    parents = {}
    above = "RegardError"
    for inner, name in drawn:
        parents[name] = above if inner else "RegardError"
        above = above if inner else name
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, RegardError)]
    real = {kind.__name__: kind.__mro__[1].__name__ for kind in kinds if kind is not RegardError}
    assert parents == real


def test_what_a_value_cannot_be_is_a_value_error_too():
    with pytest.raises(ValueError, match="sizes"):
        raise errors.ShapeError("sizes")
    with pytest.raises(TypeError, match="kinds"):
        raise errors.DtypeError("kinds")
    with pytest.raises(LookupError, match="names"):
        raise UnknownName("names")


def test_a_name_far_from_all_gets_no_suggestion():
    assert choose("score", "dot", {"dot": 1}) == 1
    with pytest.raises(UnknownName, match=r"^no score is called 'zzz'; choose from dot, additive\.$"):
        choose("score", "zzz", {"dot": 1, "additive": 2})
    assert did_you_mean("addditive", ["dot", "additive"]) == " Did you mean 'additive'?"
