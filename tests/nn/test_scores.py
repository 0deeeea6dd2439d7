"""The trainable scores against their formulas pair by pair, and scores of other packages."""

import os
import subprocess
import sys

import pytest
import torch
from numpy.testing import assert_allclose

from regard.errors import InputError, ShapeError, UnknownName
from regard.nn.scores import AdditiveScore, ConcatScore, GeneralScore, LocationScore, trainable_score
from tests.nn.gradients import normal

NAIVE = {
    "dot": lambda _, q, k: q @ k,
    "scaled_dot": lambda _, q, k: q @ k / 3**0.5,
    "cosine": lambda _, q, k: q @ k / (q.norm() * k.norm()),
    "general": lambda s, q, k: q @ (s.W.weight @ k),
    "additive": lambda s, q, k: s.v @ torch.tanh(s.W_q.weight @ q + s.W_k.weight @ k),
    "concat": lambda s, q, k: s.v @ torch.tanh(s.W.weight @ torch.cat([q, k])),
}


@pytest.mark.parametrize("name", NAIVE)
def test_every_score_is_its_formula_pair_by_pair(name):
    score, query, key = trainable_score(name, 3, 3, 5).double(), normal(4, 3), normal(6, 3, seed=1)
    expected = [[NAIVE[name](score, q, k).item() for k in key] for q in query]
    assert_allclose(score(query, key).detach(), expected, rtol=1e-12)


def test_location_scores_read_the_query_alone():
    score, query = LocationScore(3, 3, max_positions=7).double(), normal(4, 3)
    expected = [[(score.W.weight[place] @ q).item() for place in range(6)] for q in query]
    for seed in range(2):
        assert_allclose(score(query, normal(6, 3, seed=seed)).detach(), expected, rtol=1e-12)
    with pytest.raises(ShapeError, match="location scores know 7 positions"):
        score(query, normal(8, 3))


@pytest.mark.parametrize("kind", [AdditiveScore, ConcatScore])
def test_a_series_of_queries_projects_as_one_query_does(kind):
    score, query = kind(3, 4, 5).double(), normal(2, 1, 3)
    torch.testing.assert_close(score.query_series()(query), score.project_query(query))


def test_general_scores_compare_different_widths():
    assert GeneralScore(3, 4)(torch.ones(2, 3), torch.ones(5, 4)).shape == (2, 5)


def test_scores_that_do_not_fit_are_refused():
    with pytest.raises(UnknownName, match="Did you mean 'additive'"):
        trainable_score("aditive", 3, 3)
    with pytest.raises(InputError, match=r"dot compares vectors of one width; query_dim is 3, key_dim is 4"):
        trainable_score("dot", 3, 4)
    with pytest.raises(InputError, match=r"the score was made for queries of width 5 and keys of width 4; .* 6 and 4"):
        trainable_score(AdditiveScore(5, 4), 6, 4)


def test_a_score_of_an_installed_package_is_known_by_its_name(tmp_path):
    (tmp_path / "nearness-0.1.dist-info").mkdir()
    (tmp_path / "nearness-0.1.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: nearness\nVersion: 0.1\n"
    )
    (tmp_path / "nearness-0.1.dist-info" / "entry_points.txt").write_text(
        "[regard.scores]\nnearness = nearness:NearnessScore\nlost = nowhere:Lost\ndot = nearness:NearnessScore\n"
    )
    (tmp_path / "nearness.py").write_text(
        "import torch\n"
        "from regard.nn import TrainableScore\n"
        "class NearnessScore(TrainableScore):\n"
        "    def comparison(self):\n"
        "        return lambda query, key: -torch.cdist(query, key)\n"
    )
    code = """
import sys, torch, regard
from regard.errors import InputError
layer = regard.nn.Attention(4, 4, score="nearness")
assert layer(torch.zeros(2, 3, 4), torch.zeros(2, 5, 4)).weights.shape == (2, 3, 5)
from regard.translation.model_config import RNNConfig
RNNConfig(attention="nearness")
assert type(regard.nn.Attention(4, 4, score="dot").score).__name__ == "WeightlessScore"
try:
    regard.nn.Attention(4, 4, score="lost")
except InputError as error:
    print(error)
"""
    paths = os.pathsep.join([str(tmp_path), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "the score 'lost' should be nowhere:Lost" in done.stdout
