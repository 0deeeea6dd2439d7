"""The base class of autoregressive models: losses and probabilities leave padding out; initialising is reproducible."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from regard.errors import InputError
from regard.nn.output import Output
from regard.text.text_model import TextModel, initialized, output_for


class Uniform(TextModel):
    """Its features are random; only the output layer matters."""

    def __init__(self) -> None:
        super().__init__()
        self.output = Output(4, 11)


def test_padding_has_no_share_in_loss_and_log_probs():
    model, generator = Uniform(), torch.Generator().manual_seed(0)
    features = torch.randn(2, 3, 4, generator=generator)
    tokens = torch.tensor([[5, 6, 3], [7, 3, 0]])
    loss, log_probs = model.loss(features, tokens), model.log_probs(features, tokens)
    assert loss.tokens == 5
    assert float(log_probs[1, 2]) == 0
    torch.testing.assert_close(loss.nll.detach(), -log_probs.sum())
    expected = torch.log_softmax(model.output(features), -1).gather(-1, tokens[..., None])[..., 0]
    torch.testing.assert_close(log_probs[0], expected[0].detach())
    with pytest.raises(InputError, match="without a single word to predict"):
        model.loss(features, torch.zeros(2, 3, dtype=torch.int64))


def test_the_generator_alone_decides_the_weights():
    before = torch.get_rng_state()
    one, two, other = (
        initialized(lambda: nn.Linear(3, 5), torch.Generator().manual_seed(seed)).weight for seed in (1, 1, 2)
    )
    assert torch.equal(one, two)
    assert not torch.equal(one, other)
    assert torch.equal(torch.get_rng_state(), before)


def test_a_tied_output_layer_has_the_embedding_s_matrix():
    embedding = nn.Embedding(7, 4)
    assert output_for(embedding, tied=True).weight is embedding.weight
    assert output_for(embedding, tied=False).weight.shape == (7, 4)
