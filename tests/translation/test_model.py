"""Translation models: what they promise to training and search."""

from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from regard.decoding import limit_for, search
from regard.errors import ConfigError, InputError
from regard.nn.scores import SCORES
from regard.search_options import SearchOptions
from regard.translation.batches import padded_batch
from regard.translation.model import build_model
from regard.translation.model_config import RNNConfig, TransformerConfig

WORDS, FIRST = 12, 4  # 4 marks and 8 words
PLAIN: dict[str, Any] = {"dropout_embedding": 0.0, "dropout_layers": 0.0, "dropout_output": 0.0, "tie": "none"}
SMALL: dict[str, Any] = {"embedding": 16, "encoder_size": 32, "decoder_size": 64, "attention_size": 32}
KINDS = {
    **{attention: RNNConfig(attention=attention, **SMALL, **PLAIN) for attention in ("none", *SCORES)},
    "cgru": RNNConfig(cell="cgru", **SMALL, **PLAIN),
    "feeding": RNNConfig(attention="general", cell="lstm", input_feeding=True, **SMALL, **PLAIN),
    "deep": RNNConfig(encoder_layers=2, decoder_layers=2, readout="maxout", **SMALL, **PLAIN),
    "local-m": RNNConfig(attention="general", span="local-m", window=2, **SMALL, **PLAIN),
    "local-p": RNNConfig(attention="general", span="local-p", window=2, **SMALL, **PLAIN),
    **{
        positions: TransformerConfig(layers=2, size=16, heads=2, feedforward=32, dropout=0.0, positions=positions)
        for positions in ("sinusoidal", "learned", "rotary")
    },
}


def chance(seed=1):
    return torch.Generator().manual_seed(seed)


def build(config, seed=1, **options):
    return build_model(config, WORDS, WORDS, generator=chance(seed), **options)


def sentences(count, shortest, longest, generator):
    lengths = torch.randint(shortest, longest + 1, (count,), generator=generator).tolist()
    return [torch.randint(FIRST, WORDS, (length,), generator=generator).tolist() for length in lengths]


@pytest.fixture(params=KINDS)
def model(request):
    return build(KINDS[request.param]).double().eval()


@pytest.fixture
def batch():
    sources = sentences(5, 1, 7, chance(2))
    return padded_batch(sources, sentences(5, 1, 9, chance(3)))


def test_the_loss_is_that_of_the_words_alone(model, batch):
    loss = model(batch, label_smoothing=0.1)
    features, _ = model.teacher_forced(batch.target[:, :-1], model.start(batch.source, batch.source_lengths))
    logits, words = model.output(features).flatten(0, 1), batch.target[:, 1:].flatten()
    torch.testing.assert_close(
        loss.objective, F.cross_entropy(logits, words, ignore_index=0, label_smoothing=0.1, reduction="sum")
    )
    torch.testing.assert_close(loss.nll, F.cross_entropy(logits, words, ignore_index=0, reduction="sum"))
    assert loss.tokens == int((words != 0).sum())


def test_every_weight_learns(model, batch):
    model(batch).objective.backward()
    without = [name for name, weight in model.named_parameters() if weight.grad is None or not weight.grad.any()]
    assert [name for name in without if not name.endswith("W_k.bias")] == []  # a key's bias moves all scores alike


def test_padding_changes_nothing(model):
    short, long = [5, 6], [4, 7, 8, 9, 5, 6, 7]
    alone = model(padded_batch([short], [long])).nll + model(padded_batch([long], [short])).nll
    torch.testing.assert_close(model(padded_batch([short, long], [long, short])).nll, alone)


def test_forcing_tells_what_the_search_found(model, batch):
    found = search(model, model.start(batch.source, batch.source_lengths), [8] * 5, SearchOptions(beam=3))
    best = [hypotheses[0] for hypotheses in found]
    forced = model.force(padded_batch([row[row > 3].tolist() for row in batch.source], [h.tokens for h in best]))
    for hypothesis, log_probs, row in zip(best, forced.log_probs, range(5), strict=True):
        written = len(hypothesis.tokens) + hypothesis.finished
        assert log_probs[:written].sum().item() == pytest.approx(hypothesis.log_prob)
        if forced.weights is None:
            assert hypothesis.weights is None
        else:
            torch.testing.assert_close(forced.weights[row, :written], torch.from_numpy(hypothesis.weights))


def test_looks_are_distributions_over_the_words(model, batch):
    weights = model.force(batch).weights
    if weights is None:
        return
    seen = torch.arange(batch.source.shape[1]) < batch.source_lengths[:, None]
    assert (weights.masked_select(~seen[:, None].expand_as(weights)) == 0).all()
    total = weights.sum(-1)
    if getattr(model.decoder, "attention", None) is not None and model.decoder.attention.window is not None:
        assert (total <= 1 + 1e-9).all()  # local-p's Gaussian takes from the distribution
    else:
        torch.testing.assert_close(total, torch.ones_like(total))


def test_first_weights_come_from_the_generator_alone():
    state = torch.get_rng_state()
    one, same, other = (build(KINDS["additive"], seed).state_dict() for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not torch.equal(one["decoder.cells.0.weight"], other["decoder.cells.0.weight"])


@pytest.mark.parametrize(("tie", "matrices"), [("none", 3), ("output", 2), ("all", 1)])
@pytest.mark.parametrize("kind", [RNNConfig(**SMALL), TransformerConfig(size=16, heads=2)], ids=["rnn", "transformer"])
def test_ties(kind, tie, matrices, batch):
    model = build(kind.model_copy(update={"tie": tie}), shared=True)
    layers = (model.source_embedding.weight, model.target_embedding.weight, model.output.weight)
    assert len({id(weight) for weight in layers}) == matrices
    model(batch).objective.backward()


def test_one_embedding_needs_one_vocabulary():
    with pytest.raises(ConfigError, match=r'model\.tie = "all" .*vocabulary\.shared = true'):
        build(RNNConfig(tie="all", **SMALL))


def test_a_batch_without_words_is_refused(batch):
    model = build(KINDS["none"])
    empty = type(batch)(batch.source, batch.source_lengths, batch.target * 0, batch.target_lengths)
    with pytest.raises(InputError, match="without a single word to predict"):
        model(empty)


def test_mixed_precision_comes_close(model, batch):
    single = model.float()
    with torch.autocast("cpu", torch.bfloat16):
        loss = single(batch)
    loss.objective.backward()
    torch.testing.assert_close(loss.nll.detach(), single(batch).nll.detach(), rtol=0.01, atol=0.0)
    assert all(weight.grad.isfinite().all() for weight in single.parameters() if weight.grad is not None)


def test_mixed_precision_searches(model, batch):
    """As validations of a run in bfloat16 do."""
    single = model.float().eval()
    limits = [limit_for(int(length), single.longest) for length in batch.source_lengths]
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        found = search(single, single.start(batch.source, batch.source_lengths), limits, SearchOptions(beam=2))
    assert all(np.isfinite(best.log_prob) for best, *_ in found)
    weights = [best.weights for best, *_ in found if best.weights is not None]
    assert all(np.isfinite(looks).all() for looks in weights)


def test_learned_positions_limit_what_is_written_and_never_fail():
    config = TransformerConfig(layers=1, size=16, heads=2, feedforward=16, positions="learned", max_positions=12)
    model = build(config).eval()
    batch = padded_batch([[5, 6, 7, 8, 9, 10]], [[5]])
    limits = [limit_for(6, model.longest)]
    assert limits == [12]
    (found,) = search(model, model.start(batch.source, batch.source_lengths), limits, SearchOptions(beam=2))
    assert len(found[0].tokens) <= 12
