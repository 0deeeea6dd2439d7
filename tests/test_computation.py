"""What attend and attend_local share: weights before dropout, late looks, and the axes of steps."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from regard import Step, attend, attend_local
from regard.attention import GlobalAttention
from regard.computation import Computation, with_axes, without_query_axis
from regard.errors import InputError
from regard.local import LocalAttention

HOW = {"score": "dot", "normalize": "softmax"}


def kinds(query, key, value, **how):
    return {
        "global": GlobalAttention.of(query, key, value, **HOW, **how),
        "local": LocalAttention.of(query, key, value, width=1, **HOW, **how),
    }


def normal(*shape):
    return np.random.default_rng(0).normal(size=shape)


@pytest.mark.parametrize("kind", ["global", "local"])
def test_weights_are_those_before_dropout_and_the_context_of_those_after(kind):
    def first_key_only(weights):
        kept = np.zeros_like(weights)
        kept[..., 0] = 2 * weights[..., 0]
        return kept

    query, key, value = normal(3, 2), normal(5, 2), normal(5, 4)
    whole = kinds(query, key, value)[kind].attended()
    dropped = kinds(query, key, value, dropout=first_key_only)[kind].attended()
    assert_allclose(dropped.weights, whole.weights, rtol=1e-15)
    first = [0, 0, 0] if kind == "global" else [0, 0, 1]  # of each query's window
    shares = dropped.weights[[0, 1, 2], first]
    assert_allclose(dropped.context, 2 * shares[:, None] * value[first], rtol=1e-12)
    names = [step.name for step in dropped.steps()]
    assert names.index("dropped") == names.index("weights") + 1
    assert "dropped" not in [step.name for step in whole.steps()]
    after = next(step for step in dropped.steps() if "dropped" in step.made_from)
    assert after.name == ("weighted values" if kind == "global" else "context")


@pytest.mark.parametrize("kind", ["global", "local"])
def test_late_weights_are_refused_if_an_input_was_changed_in_place(kind):
    names = ("query", "key", "value", "visible")
    for name in names:
        given = [torch.from_numpy(normal(*shape)) for shape in ((5, 2), (5, 2), (5, 4))]
        visible = torch.tensor([[True, True, True, True, False]])
        attended = kinds(*given, visible=visible)[kind].attended()
        changed = dict(zip(names, (*given, visible), strict=True))[name]
        changed.copy_(changed.clone())
        for look in (lambda seen: seen.weights, lambda seen: seen.scores, lambda seen: seen.steps()):
            with pytest.raises(InputError, match=rf"{name} was changed in place after attend\(\)"):
                look(attended)


def test_both_are_one_computation():
    assert issubclass(GlobalAttention, Computation)
    assert issubclass(LocalAttention, Computation)
    near = attend_local(normal(4, 2), normal(4, 2), width=3)
    assert_allclose(near.context, attend(normal(4, 2), normal(4, 2)).context, rtol=1e-12)


def test_what_a_callable_normalizes_over_is_everything():
    def over(normalize):
        steps = attend(normal(3, 2), normal(5, 2), normalize=normalize).steps()
        return next(step.over for step in steps if step.name == "weights")

    assert over("sparsemax") == ("k",)
    assert over(lambda scores: scores / scores.sum()) == ("q", "k")


@pytest.mark.parametrize(
    ("axes", "shape", "left"),
    [(("q", "d"), (1, 3), (3,)), (("q", "k", "h"), (7, 1, 2, 3), (7, 2, 3)), (("k", "q"), (2, 1), (2,))],
)
def test_the_axis_of_a_single_query_goes_wherever_it_is(axes, shape, left):
    step = without_query_axis(Step("own", "", np.ones(shape), axes, over=("q",)))
    assert (step.value.shape, "q" in step.axes, step.over) == (left, False, ())


def test_a_shape_that_tells_no_axes_is_left_alone():
    query, key = np.ones((2, 3)), np.ones((5, 3))
    for shape in ((), (4,), (4, 4), (4, 4, 4)):
        assert with_axes(Step("own", "", np.ones(shape)), query, key).axes == ()
