"""The settings of a vocabulary: what is refused, by name."""

from __future__ import annotations

import pytest

from regard.errors import ConfigError
from regard.settings import validate
from regard.text.vocabulary_config import PiecesConfig


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"size": 7}, "size = 7 cannot be used: it should be greater than or equal to 8"),
        ({"kind": "words"}, r"kind = 'words' cannot be used: .*Did you mean 'word'"),
        ({"coverage": 0.5}, "coverage = 0.5 cannot be used"),
        ({"normalization": "NFC"}, "normalization = 'NFC' cannot be used: it should be 'nfc', 'nfkc' or 'none'"),
        ({"kind": "word", "byte_fallback": True}, 'byte_fallback = true spells .* needs kind = "bpe"'),
    ],
)
def test_what_no_vocabulary_can_be_is_refused(values, text):
    with pytest.raises(ConfigError, match=text):
        validate(PiecesConfig, values)


def test_pieces_may_fall_back_to_bytes():
    assert validate(PiecesConfig, {"byte_fallback": True}).kind == "bpe"
