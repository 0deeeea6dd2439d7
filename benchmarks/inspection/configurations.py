"""Small random configurations of the families that families.py measures."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
import transformers

SMALL = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 97,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
GROUPED = {**SMALL, "num_key_value_heads": 2}
EXPERTS = {"num_experts": 4, "num_local_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24}
GPT = {
    "n_embd": 32,
    "n_layer": 2,
    "n_head": 4,
    "n_positions": 64,
    "n_ctx": 64,
    "vocab_size": 97,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
PAIR = {
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "vocab_size": 97,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 2,
}
PIXELS = {"image_size": 24, "patch_size": 8, "num_channels": 3}
LATENT = {"q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8}
SOUND = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "conv_dim": (16, 16),
    "conv_stride": (4, 4),
    "conv_kernel": (8, 4),
    "num_feat_extract_layers": 2,
    "num_conv_pos_embeddings": 8,
    "num_conv_pos_embedding_groups": 4,
    "vocab_size": 97,
}


@dataclass(frozen=True)
class Family:
    """A family, its classes by name, and the settings that make it small."""

    name: str
    kind: str
    """what it is fed: text, pair, pixels, sound, mel, clip"""
    model: str
    settings: dict[str, Any] = field(default_factory=dict)
    config_class: str = ""
    unreported: tuple[str, ...] = ()
    """parts of the names of maps that ``output_attentions`` leaves out"""

    def config(self) -> Any:
        stem = self.config_class or _stem(self.model)
        return getattr(transformers, f"{stem}Config")(**self.settings)


def _stem(model: str) -> str:
    for end in ("ForCausalLM", "ForConditionalGeneration", "LMHeadModel", "Model", "ForMaskedLM"):
        model = model.removesuffix(end)
    return model


def _text(model: str, settings: dict[str, Any], **more: Any) -> Family:
    config_class = more.pop("config_class", "")
    return Family(more.pop("name", _stem(model).lower()), "text", model, {**settings, **more}, config_class)


def inputs_of(family: Family, config: Any) -> dict[str, Any]:
    """Two items of random input."""
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(3, 97, (2, 11), generator=generator)
    if family.kind == "text":
        return {"input_ids": ids}
    if family.kind == "pair":
        return {"input_ids": ids, "decoder_input_ids": torch.randint(3, 97, (2, 7), generator=generator)}
    if family.kind == "pixels":
        size = config.image_size if isinstance(config.image_size, int) else config.image_size[0]
        return {"pixel_values": torch.rand(2, 3, size, size, generator=generator)}
    if family.kind == "sound":
        return {"input_values": torch.randn(2, 400, generator=generator)}
    if family.kind == "mel":
        frames = 2 * config.max_source_positions
        return {
            "input_features": torch.randn(2, config.num_mel_bins, frames, generator=generator),
            "decoder_input_ids": ids[:, :7],
        }
    raise ValueError(family.kind)


FAMILIES = [
    _text("LlamaForCausalLM", GROUPED),
    _text("MistralForCausalLM", GROUPED, sliding_window=4),
    _text("MixtralForCausalLM", GROUPED, **EXPERTS),
    _text("GemmaForCausalLM", GROUPED, head_dim=8),
    _text("Gemma2ForCausalLM", GROUPED, head_dim=8, sliding_window=4),
    _text("Gemma3ForCausalLM", GROUPED, head_dim=8, sliding_window=4, config_class="Gemma3Text"),
    _text("Qwen2ForCausalLM", GROUPED),
    _text("Qwen2MoeForCausalLM", GROUPED, **EXPERTS, shared_expert_intermediate_size=24),
    _text("Qwen3ForCausalLM", GROUPED, head_dim=8),
    _text("Qwen3MoeForCausalLM", GROUPED, head_dim=8, **EXPERTS),
    _text(
        "Qwen3NextForCausalLM",
        GROUPED,
        head_dim=8,
        **EXPERTS,
        num_hidden_layers=4,
        shared_expert_intermediate_size=24,
        linear_num_value_heads=4,
        linear_num_key_heads=2,
        linear_key_head_dim=8,
        linear_value_head_dim=8,
    ),
    _text("PhiForCausalLM", SMALL),
    _text("Phi3ForCausalLM", GROUPED),
    _text("GPT2LMHeadModel", GPT),
    _text("GPTNeoXForCausalLM", SMALL),
    _text(
        "GPTNeoForCausalLM",
        {**SMALL, "num_layers": 2, "num_heads": 4, "attention_types": [[["global", "local"], 1]], "window_size": 4},
    ),
    _text("GPTJForCausalLM", GPT, rotary_dim=4),
    _text("GPTBigCodeForCausalLM", GPT),
    _text("CodeGenForCausalLM", {**GPT, "n_layer": 2, "rotary_dim": 4}),
    _text("OPTForCausalLM", {**SMALL, "ffn_dim": 48, "word_embed_proj_dim": 32}),
    _text("BloomForCausalLM", {"hidden_size": 32, "n_layer": 2, "n_head": 4, "vocab_size": 97}),
    _text("FalconForCausalLM", {**SMALL, "new_decoder_architecture": False}),
    _text("MptForCausalLM", {"d_model": 32, "n_layers": 2, "n_heads": 4, "vocab_size": 97, "max_seq_len": 64}),
    _text("StableLmForCausalLM", GROUPED),
    _text("Starcoder2ForCausalLM", GROUPED),
    _text("OlmoForCausalLM", GROUPED),
    _text("Olmo2ForCausalLM", GROUPED),
    _text("OlmoeForCausalLM", GROUPED, **EXPERTS),
    _text("CohereForCausalLM", GROUPED),
    _text("Cohere2ForCausalLM", GROUPED, sliding_window=4),
    _text("GraniteForCausalLM", GROUPED),
    _text("GptOssForCausalLM", GROUPED, head_dim=8, num_local_experts=4, num_experts_per_tok=2, sliding_window=4),
    _text(
        "DeepseekV2ForCausalLM",
        SMALL,
        **LATENT,
        n_routed_experts=4,
        num_experts_per_tok=2,
        moe_intermediate_size=24,
        n_group=1,
        topk_group=1,
    ),
    _text(
        "DeepseekV3ForCausalLM",
        SMALL,
        **LATENT,
        n_routed_experts=4,
        num_experts_per_tok=2,
        moe_intermediate_size=24,
        n_group=2,
        topk_group=1,
        num_key_value_heads=4,
    ),
    _text("PersimmonForCausalLM", SMALL),
    _text("SmolLM3ForCausalLM", GROUPED),
    _text("HeliumForCausalLM", GROUPED, head_dim=8),
    _text("GlmForCausalLM", GROUPED, head_dim=8),
    _text("Glm4ForCausalLM", GROUPED, head_dim=8),
    _text("NemotronForCausalLM", GROUPED),
    _text(
        "JambaForCausalLM",
        GROUPED,
        attn_layer_period=2,
        attn_layer_offset=1,
        num_experts=2,
        num_experts_per_tok=1,
        mamba_d_state=4,
        mamba_dt_rank=4,
        use_mamba_kernels=False,
    ),
    _text(
        "XGLMForCausalLM",
        {
            "d_model": 32,
            "ffn_dim": 48,
            "num_layers": 2,
            "attention_heads": 4,
            "vocab_size": 97,
            "max_position_embeddings": 64,
        },
    ),
    _text("BioGptForCausalLM", SMALL),
    _text("CTRLLMHeadModel", {"n_embd": 32, "n_layer": 2, "n_head": 4, "dff": 48, "vocab_size": 97, "n_positions": 64}),
    _text("OpenAIGPTLMHeadModel", GPT),
    _text("BertModel", SMALL),
    _text("RobertaModel", SMALL),
    _text(
        "DistilBertModel",
        {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48, "vocab_size": 97, "max_position_embeddings": 64},
    ),
    _text("AlbertModel", SMALL, embedding_size=16),
    _text("ElectraModel", SMALL, embedding_size=16),
    _text("DebertaModel", SMALL, relative_attention=True, pos_att_type=["c2p", "p2c"]),
    _text("DebertaV2Model", SMALL, relative_attention=True, pos_att_type=["c2p", "p2c"]),
    _text("MPNetModel", SMALL),
    _text("CamembertModel", SMALL),
    _text("ErnieModel", SMALL),
    _text("EsmModel", SMALL, position_embedding_type="rotary"),
    _text("ModernBertModel", SMALL, local_attention=4, global_attn_every_n_layers=2, cls_token_id=1, sep_token_id=2),
    _text("RemBertModel", SMALL, input_embedding_size=16, output_embedding_size=32),
    _text("RoFormerModel", SMALL, embedding_size=32),
    _text("MegatronBertModel", SMALL),
    _text("IBertModel", SMALL, quant_mode=False),
    _text("XLMModel", {"emb_dim": 32, "n_layers": 2, "n_heads": 4, "n_words": 97, "max_position_embeddings": 64}),
    _text("XLNetModel", {"d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 48, "vocab_size": 97}),
    _text("ConvBertModel", SMALL, embedding_size=32, head_ratio=2),
    _text("LayoutLMModel", SMALL),
    _text("TapasModel", SMALL),
    _text(
        "FunnelModel",
        {
            "vocab_size": 97,
            "d_model": 32,
            "n_head": 4,
            "d_head": 8,
            "d_inner": 48,
            "block_sizes": [1, 1],
            "num_decoder_layers": 1,
        },
    ),
    Family(
        "t5",
        "pair",
        "T5Model",
        {
            "vocab_size": 97,
            "d_model": 32,
            "d_kv": 8,
            "d_ff": 48,
            "num_layers": 2,
            "num_heads": 4,
            "decoder_start_token_id": 0,
        },
    ),
    Family(
        "umt5",
        "pair",
        "UMT5Model",
        {
            "vocab_size": 97,
            "d_model": 32,
            "d_kv": 8,
            "d_ff": 48,
            "num_layers": 2,
            "num_heads": 4,
            "decoder_start_token_id": 0,
        },
    ),
    Family("bart", "pair", "BartModel", PAIR),
    Family("mbart", "pair", "MBartModel", PAIR),
    Family("pegasus", "pair", "PegasusModel", PAIR),
    Family("marian", "pair", "MarianModel", PAIR),
    Family("m2m_100", "pair", "M2M100Model", PAIR),
    Family("blenderbot", "pair", "BlenderbotModel", PAIR),
    Family(
        "whisper",
        "mel",
        "WhisperModel",
        {**PAIR, "num_mel_bins": 8, "max_source_positions": 10, "max_target_positions": 16},
    ),
    Family("vit", "pixels", "ViTModel", {**SMALL, **PIXELS}),
    Family("deit", "pixels", "DeiTModel", {**SMALL, **PIXELS}),
    Family("beit", "pixels", "BeitModel", {**SMALL, **PIXELS}),
    Family("dinov2", "pixels", "Dinov2Model", {**SMALL, **PIXELS}),
    Family("siglip", "pixels", "SiglipVisionModel", {**SMALL, **PIXELS}, "SiglipVision", ("head",)),
    Family("clip", "pixels", "CLIPVisionModel", {**SMALL, **PIXELS}, "CLIPVision"),
    Family(
        "swin",
        "pixels",
        "SwinModel",
        {"image_size": 32, "patch_size": 4, "embed_dim": 16, "depths": [2, 2], "num_heads": [2, 4], "window_size": 4},
        "",
        ("blocks.0",),
    ),
    Family("wav2vec2", "sound", "Wav2Vec2Model", SOUND),
    Family("hubert", "sound", "HubertModel", SOUND),
]

LEFT_OUT = {
    "longformer, led": "weights are a band of blocks and a few global tokens, not rows over keys: an error names the module",
    "bigbird (block sparse), nystromformer": "each table of blocks or landmarks is a map of its own (`#2`, `#3`, ...); none is over all keys",
    "reformer": "hashed buckets, no softmax over keys: an error names the module",
    "fnet, mamba and other models without attention": "said so",
    "minimax and other hybrids": "recorded; their linear attention has no weights and is passed over",
    "deformable_detr and other deformable attention": "weights belong to sampled points of a picture, not to keys; not tried",
}
