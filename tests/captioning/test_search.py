"""The search of captions."""

from __future__ import annotations

import numpy as np
import pytest

import regard


@pytest.fixture(scope="module")
def soft(soft_run):
    return regard.Captioner.load(soft_run)


@pytest.fixture(scope="module")
def photo(scenes):
    return str(scenes / "dev/images/000000.png")


def test_search_matches_the_forced_log_probability(soft, photo):
    """What beam search says of its caption is what the model says when it is made to write it."""
    from regard.captioning.batches import CaptionBatch
    from regard.captioning.photos import open_photo
    from regard.captioning.search import best_hypotheses, model_inputs
    from regard.text.padding import padded_targets

    seen = model_inputs(soft.backbone, [open_photo(photo)])
    best = best_hypotheses(soft.model, seen)[0][0]
    forced = soft.model.force(CaptionBatch(seen, padded_targets([best.tokens])[0]))
    counted = forced.log_probs[0] if best.finished else forced.log_probs[0, :-1]
    assert float(counted.sum()) == pytest.approx(best.log_prob, rel=1e-4)
    np.testing.assert_allclose(best.weights, forced.weights[0, : len(best.weights)].numpy(), atol=1e-5)
