"""What the [model] table of a config file accepts, and what it says when it does not."""

import pytest

from regard.errors import ConfigError
from regard.nn.scores import SCORES
from regard.settings import validate
from regard.translation.model_config import RNNConfig, TransformerConfig


@pytest.mark.parametrize("attention", ["none", *SCORES])
def test_every_score_is_an_attention_by_its_name(attention):
    assert RNNConfig(attention=attention, decoder_size=512).attention == attention


@pytest.mark.parametrize(
    ("settings", "asked_by"),
    [
        ({"attention": "none"}, "previous"),
        ({"attention": "additive"}, "previous"),
        ({"attention": "concat"}, "current"),
        ({"attention": "location"}, "current"),
        ({"attention": "additive", "cell": "cgru"}, "between"),
    ],
)
def test_the_word_says_which_state_asks(settings, asked_by):
    assert RNNConfig(**settings).asked_by == asked_by


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"attention": "aditive"}, "no attention is called 'aditive'; choose from none, .* Did you mean 'additive'?"),
        ({"attention": "none", "span": "local-m"}, "\"none\" has no weights: .*got span = 'local-m'"),
        ({"attention": "none", "normalize": "hard"}, "\"none\" has no weights: .*normalize = 'hard'"),
        ({"attention": "none", "cell": "cgru"}, "\"none\" has no weights: .*cell = 'cgru'"),
        ({"input_feeding": True}, "input_feeding .*got cell = 'gru', attention = 'additive'"),
        ({"attention": "general", "cell": "cgru", "input_feeding": True}, "input_feeding .*got cell = 'cgru'"),
        ({"attention": "dot"}, "decoder_size = 256 must equal their width, 512"),
        ({"attention": "cosine", "bidirectional": False, "decoder_size": 128}, "decoder_size = 128 .* 256"),
        ({"cell": "cgru", "decoder_layers": 2}, "one layer deep; got decoder_layers = 2"),
        ({"decoder_sise": 3}, "decoder_size"),
    ],
)
def test_contradictions_are_explained(settings, text):
    with pytest.raises(ConfigError, match=text):
        validate(RNNConfig, settings)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"size": 100, "heads": 3}, "size = 100 does not divide into heads = 3"),
        ({"size": 12, "heads": 4, "positions": "rotary"}, "must be even, size / heads = 3"),
    ],
)
def test_a_transformer_that_does_not_divide_is_explained(settings, text):
    with pytest.raises(ConfigError, match=text):
        validate(TransformerConfig, settings)
