import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

import regard
from regard import attend, positions
from regard.positions import alibi, equivariance, learned, rotary, sinusoidal


def test_sinusoidal_by_hand():
    table = sinusoidal(50, 6)
    assert_allclose(table[7, 2], np.sin(7 / 10000 ** (2 / 6)))
    assert_allclose(table[7, 3], np.cos(7 / 10000 ** (2 / 6)))
    assert_allclose(sinusoidal(3, 5)[:, 4], np.sin(np.arange(3) / 10000 ** (4 / 5)))  # an odd width ends in a sine


def test_rotary_scores_depend_on_the_distance_alone():
    rng = np.random.default_rng(0)
    q, k = rng.normal(size=(1, 8)), rng.normal(size=(1, 8))
    near, far = ((rotary(q, [i]) @ rotary(k, [j]).T).item() for i, j in ((3, 5), (103, 105)))
    assert_allclose(near, far, rtol=1e-12)
    assert abs(near - (rotary(q, [3]) @ rotary(k, [6]).T).item()) > 1e-3
    assert_allclose(np.linalg.norm(rotary(q, [9])), np.linalg.norm(q), rtol=1e-14)
    assert_allclose(rotary(torch.tensor(q)), rotary(q))


def test_alibi_slopes_are_the_papers():
    assert_allclose(-alibi(8, 2)[:, 1, 0], [2.0**-i for i in range(1, 9)])
    three = -alibi(3, 2)[:, 1, 0]
    assert_allclose(three, [2**-4, 2**-8, 2**-2])
    assert alibi(2, 3, 5).shape == (2, 3, 5)


INPUTS = np.random.default_rng(1).normal(size=(6, 4))
WITH_POSITIONS = {
    "sinusoidal": lambda x: attend(x + sinusoidal(6, 4), x + sinusoidal(6, 4), x).context,
    "learned": lambda x: attend(x + learned(INPUTS**2, 6), x + learned(INPUTS**2, 6), x).context,
    "rotary": lambda x: attend(rotary(x), rotary(x), x).context,
    "alibi": lambda x: attend(x, x, bias=alibi(1, 6)[0]).context,
}


def test_without_positions_attention_is_permutation_equivariant():
    assert equivariance(lambda x: attend(x, x).context, INPUTS, [2, 0, 1, 5, 3, 4]).holds
    layer = regard.nn.MultiHeadAttention(4, 2).double()
    assert equivariance(lambda x: layer(x).context.detach(), torch.tensor(INPUTS)).holds


@pytest.mark.parametrize("kind", WITH_POSITIONS)
def test_positions_break_it(kind):
    found = equivariance(WITH_POSITIONS[kind], INPUTS, [2, 0, 1, 5, 3, 4])
    assert not found.holds
    assert found.gap > 1e-3


def test_the_random_state_of_the_caller_is_left_alone():
    np.random.seed(3)  # noqa: NPY002 - the caller's habit, not ours
    before = np.random.get_state(legacy=False)["state"]["key"].copy()  # noqa: NPY002
    equivariance(lambda x: x, INPUTS)
    assert (np.random.get_state(legacy=False)["state"]["key"] == before).all()  # noqa: NPY002
    assert positions.Equivariance(True, 0.0).holds
