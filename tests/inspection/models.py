"""Small random models for the tests of inspection."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
import transformers
from torch import Tensor

SMALL = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 97,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": None,
}
PAIR = {
    "vocab_size": 97,
    "d_model": 32,
    "d_kv": 8,
    "d_ff": 48,
    "num_layers": 2,
    "num_heads": 4,
    "decoder_start_token_id": 0,
}


@cache
def made(kind: str, implementation: str = "sdpa", **settings: Any) -> Any:
    """The same weights each time it is asked for; do not change it."""
    torch.manual_seed(0)
    stem = kind.removesuffix("ForCausalLM").removesuffix("Model").removesuffix("ForConditionalGeneration")
    config = getattr(transformers, f"{stem}Config")(**settings)
    return getattr(transformers, kind)._from_config(config, attn_implementation=implementation).eval()


def llama(implementation: str = "sdpa") -> Any:
    return made("LlamaForCausalLM", implementation, **SMALL, num_key_value_heads=2)


def bert(implementation: str = "sdpa") -> Any:
    return made("BertModel", implementation, **SMALL)


def gpt2(implementation: str = "sdpa") -> Any:
    return made("GPT2Model", implementation, n_embd=32, n_layer=2, n_head=4, vocab_size=97, n_positions=64)


def mistral(implementation: str = "sdpa") -> Any:
    """With a window of 5."""
    return made("MistralForCausalLM", implementation, **SMALL, num_key_value_heads=2, sliding_window=5)


def t5(implementation: str = "sdpa") -> Any:
    return made("T5ForConditionalGeneration", implementation, **PAIR)


def token_ids(batch: int = 2, length: int = 11) -> Tensor:
    return torch.randint(3, 97, (batch, length), generator=torch.Generator().manual_seed(1))


def furthest(found: Any, table: Tensor, rows: int = 0) -> float:
    """The largest difference between a map and a table (b, h, q, k), from row ``rows`` on."""
    assert found.shape == tuple(table.shape)
    batch, heads = found.shape[:2]
    return max(
        float((found[b, h].weights() - table[b, h])[rows:].abs().max()) for b in range(batch) for h in range(heads)
    )
