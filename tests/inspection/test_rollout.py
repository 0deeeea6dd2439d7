"""Rollout: rows of the product of all layers, computed without any of the products."""

import pytest
import torch

import regard
from regard.errors import InputError, ShapeError, UnknownName
from regard.inspection import rollout as room
from regard.inspection.store import open_store
from tests.inspection.models import bert, llama, made, t5, token_ids

ALBERT = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4}
ALBERT |= {"vocab_size": 97, "embedding_size": 16}


def dense(tables):
    """By the definition: the whole matrices, multiplied."""
    found = torch.eye(tables[0].shape[-1], dtype=torch.float64)
    for table in tables:
        found = (table.double().mean(0) + torch.eye(len(found))) / 2 @ found
    return found.float()


@pytest.mark.parametrize("model", [llama, bert])
def test_it_is_the_product_of_the_layers(model, monkeypatch):
    monkeypatch.setattr(room, "AT_ONCE", 40)  # a few rows at a time
    ids = token_ids()
    with torch.no_grad(), regard.record(model()) as recorded:
        model()(ids)
        model()(ids.flip(1))
    with torch.no_grad():
        tables, again = (model("eager")(some, output_attentions=True).attentions for some in (ids, ids.flip(1)))
    first, last = (name for name in recorded if "#" not in name)
    for batch in (0, 1):
        expected = dense([table[batch] for table in tables])
        found = recorded[last][batch, 0].weights(by="rollout")
        torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)
        torch.testing.assert_close(found.sum(-1), torch.ones(11))
        torch.testing.assert_close(recorded[last][batch, 3].row(7, by="rollout"), expected[7], atol=1e-6, rtol=0)
        second = recorded[f"{last}#2"][batch, 0].weights([4, 9], slice(2, 6), by="rollout")
        torch.testing.assert_close(second, dense([t[batch] for t in again])[[4, 9], 2:6], atol=1e-6, rtol=0)
    torch.testing.assert_close(recorded[first][0, 0].weights(by="rollout"), dense([tables[0][0]]), atol=1e-6, rtol=0)


def test_layers_that_share_a_module_follow_each_other(tmp_path):
    model, eager = (made("AlbertModel", how, **ALBERT) for how in ("sdpa", "eager"))
    ids = token_ids(batch=1)
    with torch.no_grad(), regard.record(model, store=tmp_path) as recorded:
        model(ids)
    with torch.no_grad():
        expected = dense([table[0] for table in eager(ids, output_attentions=True).attentions])
    last = list(recorded)[-1]
    assert last.endswith("#3")
    for some in (recorded, open_store(tmp_path)):
        torch.testing.assert_close(some[last][0, 0].weights(by="rollout"), expected, atol=1e-6, rtol=0)


def test_the_decoder_is_followed_and_what_is_across_is_refused():
    ids = token_ids(batch=1)
    with torch.no_grad(), regard.record(t5()) as recorded:
        t5()(input_ids=ids, decoder_input_ids=ids)
    with torch.no_grad():
        tables = t5("eager")(input_ids=ids, decoder_input_ids=ids, output_attentions=True).decoder_attentions
    own = recorded["decoder.block.1.layer.0.SelfAttention"][0, 0]
    torch.testing.assert_close(own.weights(by="rollout"), dense([table[0] for table in tables]), atol=1e-6, rtol=0)
    with pytest.raises(InputError, match="a rollout needs the self-attention of every layer"):
        recorded["decoder.block.1.layer.1.EncDecAttention"][0, 0].weights(by="rollout")


@pytest.mark.parametrize("chosen", [{"layers": [1]}, {"heads": [0]}])
def test_a_record_with_gaps_is_refused(chosen):
    with torch.no_grad(), regard.record(llama(), **chosen) as recorded:
        llama()(token_ids())
    with pytest.raises(InputError, match="recorded without layers= and heads="):
        recorded["model.layers.1.self_attn"][0, 0].row(3, by="rollout")


def test_too_many_rows_and_unknown_words_are_refused(monkeypatch):
    with torch.no_grad(), regard.record(llama()) as recorded:
        llama()(token_ids())
    head = recorded["model.layers.1.self_attn"][0, 0]
    with pytest.raises(UnknownName, match="no weighting is called 'norm'; choose from weights, norms, rollout"):
        head.weights(by="norm")
    monkeypatch.setattr("regard.inspection.attention_map.MOST", 100)
    with pytest.raises(ShapeError, match="11 x 11 weights would take"):
        head.column(0, by="rollout")
