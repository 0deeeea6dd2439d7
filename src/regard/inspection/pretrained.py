"""Hugging Face models from a directory: read as their own class, run on a text or a picture, and recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from torch import nn

from regard.errors import DataError, InputError, RegardError
from regard.inspection.recorded import Recorded

LONGEST_ANSWER = 64  # tokens that an encoder-decoder writes


def is_pretrained(directory: Path) -> bool:
    """Whether a directory holds a Hugging Face model."""
    return (directory / "config.json").is_file() or bool(_gguf(directory))


def load_model(directory: Path) -> nn.Module:
    """The model as the class it was saved as."""
    transformers = _transformers()
    given = _where(directory)
    try:
        if given:
            return _eval(transformers.AutoModelForCausalLM.from_pretrained(directory, **given))
        names = json.loads((directory / "config.json").read_text("utf-8")).get("architectures") or []
        kind = next((getattr(transformers, name) for name in names if hasattr(transformers, name)), None)
        return _eval((kind or transformers.AutoModel).from_pretrained(directory))
    except (OSError, ValueError, ImportError, RuntimeError) as error:
        raise DataError(f"{directory} cannot be read as a model: {str(error).strip().splitlines()[0]}") from error


def record_text(model: nn.Module, directory: Path, text: str) -> Recorded:
    """The attention of one pass over the text; an encoder-decoder also writes what follows from it."""
    from regard.inspection.recorder import record

    if not text.strip():
        raise InputError("the text is empty; give one with at least one word")
    tokenizer = _tokenizer(directory)
    inputs = tokenizer(text, return_tensors="pt")
    _check_length(model, inputs["input_ids"].shape[1])
    config: Any = model.config
    with torch.inference_mode(False), torch.no_grad():
        if getattr(config, "is_encoder_decoder", False):
            with record(model) as recorded:
                model.generate(**inputs, max_new_tokens=LONGEST_ANSWER)  # type: ignore[operator]
        else:
            with record(model) as recorded:
                model(**_taken(model, inputs))
    sides = [ids[0] for ids in (recorded.source_ids, recorded.ids) if ids]
    labels = [tokenizer.convert_ids_to_tokens([int(token) for token in side]) for side in sides]
    recorded.tokens = [_readable(token) for token in labels[0]] if len(labels) == 1 else tuple(labels)
    return recorded


def record_image(model: nn.Module, directory: Path, image: Path) -> Recorded:
    """The attention of one pass over a picture."""
    from PIL import Image, UnidentifiedImageError

    from regard.inspection.recorder import record

    try:
        with Image.open(image) as opened:
            picture = opened.convert("RGB")
    except (OSError, UnidentifiedImageError) as error:
        raise DataError(f"{image} cannot be read as a picture: {error}") from None
    try:
        processor = _transformers().AutoImageProcessor.from_pretrained(directory)
    except (OSError, ValueError) as error:
        first = str(error).strip().splitlines()[0]
        raise DataError(f"{directory} has no image processor, so it takes no pictures: {first}") from None
    inputs = processor(images=picture, return_tensors="pt")
    with torch.no_grad(), record(model) as recorded:
        model(**inputs)
    return recorded


def _taken(model: nn.Module, inputs: Any) -> dict[str, Any]:
    """Those inputs that the model has a name for: tokenizers of GGUF files give token types that models do not take."""
    import inspect

    names = inspect.signature(model.forward).parameters
    return {name: value for name, value in inputs.items() if name in names}


def _readable(token: str) -> str:
    return token.replace("\N{LATIN CAPITAL LETTER G WITH DOT ABOVE}", "\N{OPEN BOX}").replace("\u2581", "\N{OPEN BOX}")


def _check_length(model: nn.Module, tokens: int) -> None:
    if not tokens:
        raise InputError("the text has no tokens; give one with at least one word")
    config: Any = model.config
    most = getattr(config, "max_position_embeddings", None)
    if isinstance(most, int) and 0 < most < tokens:
        raise InputError(f"the text has {tokens} tokens; the model takes {most}. Give a shorter one.")


def _tokenizer(directory: Path) -> Any:
    try:
        return _transformers().AutoTokenizer.from_pretrained(directory, **_where(directory))
    except (OSError, ValueError, ImportError) as error:
        first = str(error).strip().splitlines()[0]
        raise DataError(f"{directory} has no tokenizer that can be read, so it takes no text: {first}") from None


def _where(directory: Path) -> dict[str, str]:
    found = [] if (directory / "config.json").is_file() else _gguf(directory)
    return {"gguf_file": found[0].name} if found else {}


def _gguf(directory: Path) -> list[Path]:
    return sorted(directory.glob("*.gguf"))


def _eval(model: Any) -> nn.Module:
    found: nn.Module = model.eval()
    return found


def _transformers() -> Any:
    try:
        import transformers
    except ImportError:
        raise RegardError("models of Hugging Face need transformers: pip install 'regard[inspect]'") from None
    logging: Any = transformers.utils.logging
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    return transformers
