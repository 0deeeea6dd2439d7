"""What a run file says: the settings every training shares, and which task's settings stand beside them."""

from __future__ import annotations

import importlib
import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TypeGuard

from pydantic import model_validator
from pydantic_core import PydanticUndefined

from regard.errors import ConfigError, did_you_mean
from regard.settings import MOST_OF_A_COUNT, Settings, override, setting, validate

_LONGEST = 1 << 20  # bytes of a run file


class TaskPaths(NamedTuple):
    """Where a task's settings class and its Task live, as ``module:name``."""

    config: str
    task: str


TASKS = {
    "translate": TaskPaths("regard.translation.config:TranslationConfig", "regard.translation.task:TranslationTask"),
    "caption": TaskPaths("regard.captioning.config:CaptionConfig", "regard.captioning.task:CaptionTask"),
}
"""what can be trained; a task's modules are imported when it is used"""


class TrainingConfig(Settings):
    """How to train, whatever is trained."""

    seed: int = setting(1, "Fixes the initial weights, the order of the data and the dropout.", ge=0, lt=2**63)
    begin_with: str = setting(
        "",
        "Begin with the weights of this model or run, of the same vocabulary, as far as both have them.",
        may_change=True,
    )
    epochs: int = setting(
        20, "Stop after this many passes over the data; 0 = no limit.", may_change=True, ge=0, le=MOST_OF_A_COUNT
    )
    updates: int = setting(
        0,
        "Stop after this many updates of the weights; 0 = no limit. The linear and cosine schedules end here, and "
        "fix it.",
        may_change=True,
        ge=0,
        le=MOST_OF_A_COUNT,
    )
    batch_tokens: int = setting(
        2048, "Size of a batch of each process: lines x the longest line of the batch, either side.", ge=1, le=1 << 30
    )
    by_length: bool = setting(
        True,
        "Let a batch hold lines of like length, which wastes little on padding; false = of any length, where length "
        "tells what a line says.",
    )
    accumulate: int = setting(1, "Batches whose gradients are added up for one update.", ge=1, le=1 << 20)
    learning_rate: float = setting(0.001, "Adam's step size, at its highest.", gt=0, le=1000)
    betas: tuple[float, float] = setting((0.9, 0.999), "Adam's two decay rates.", strict=False)
    epsilon: float = setting(1e-8, "Adam's epsilon.", gt=0, le=1)
    weight_decay: float = setting(0.0, "Decoupled weight decay (AdamW).", ge=0, le=1000)
    schedule: Literal["constant", "inverse_sqrt", "linear", "cosine"] = setting(
        "constant",
        "Learning rate after the warm-up: constant; inverse_sqrt = falling with the root of the updates; linear or "
        "cosine = falling to 0 at `updates`.",
    )
    warmup: int = setting(
        0, "Updates over which the learning rate rises linearly from 0; 0 = none.", ge=0, le=MOST_OF_A_COUNT
    )
    clip_norm: float = setting(
        1.0, "Largest norm of the gradient of an update; 0 = no clipping.", ge=0, le=MOST_OF_A_COUNT
    )
    label_smoothing: float = setting(0.1, "Share of the target probability spread over all words.", ge=0, lt=1)
    validate_every: int = setting(
        1000, "Updates between validations (each is checkpointed).", may_change=True, ge=1, le=MOST_OF_A_COUNT
    )
    checkpoint_every: int = setting(
        0,
        "Updates between checkpoints beside those of validations; 0 = none.",
        may_change=True,
        ge=0,
        le=MOST_OF_A_COUNT,
    )
    checkpoint_minutes: float = setting(
        10.0,
        "Longest time without a checkpoint, in minutes; 0 = no such limit.",
        may_change=True,
        ge=0,
        le=MOST_OF_A_COUNT,
    )
    best_by: Literal["loss", "bleu"] = setting("bleu", "What decides which weights are kept as best.")
    patience: int = setting(
        10,
        "Stop after this many validations without a better one; 0 = never.",
        may_change=True,
        ge=0,
        le=MOST_OF_A_COUNT,
    )
    average_last: int = setting(
        0,
        "At the end, average the weights of the last so many validations, and keep the average as best where it is "
        "better; 0 = off.",
        may_change=True,
        ge=0,
        le=1000,
    )
    threads: int = setting(
        0,
        "Processor threads of each process; 0 = cores / processes. Another number rounds differently, so a resumed "
        "run then continues, but not bit for bit.",
        may_change=True,
        ge=0,
        le=1024,
    )
    device: Literal["auto", "cpu", "cuda"] = setting("auto", "Where to train; auto = cuda where there is one.")
    precision: Literal["float32", "bfloat16"] = setting(
        "float32",
        "bfloat16 = mixed precision: weights and sums stay in float32; faster where the processor multiplies it.",
    )

    @model_validator(mode="after")
    def _must_end(self) -> Self:
        if self.epochs == 0 and self.updates == 0:
            raise ValueError("epochs and updates are both 0; give one of them, so that it ends")
        if self.schedule in ("linear", "cosine") and self.updates <= self.warmup:
            raise ValueError(
                f"schedule = {self.schedule!r} falls to 0 at `updates`, which must be more than the warm-up of "
                f"{self.warmup}, and is {self.updates}"
            )
        if not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"betas = {self.betas} cannot be used: each must be at least 0 and below 1")
        return self


class RunConfig(Settings):
    """What every run file holds; a task adds its own tables, and ``training`` after them, as people read it last."""

    task: str = setting(description="What is trained; it decides which settings there are.")
    run: str = setting(description="Directory of this run; made if it is not there.", may_change=True, min_length=1)
    if TYPE_CHECKING:
        training: TrainingConfig = TrainingConfig()

    def check_portable(self) -> None:
        """Refuse to export what would not work where it is handed on to."""


def load_config(config: RunConfig | Mapping[str, Any] | str | Path, overrides: Iterable[str] = ()) -> RunConfig:
    """The run's settings, from a file, a mapping or settings, with each ``a.b=c`` of ``overrides`` put in."""
    where = ""
    if isinstance(config, RunConfig):
        values = config.model_dump()
    elif isinstance(config, Mapping):
        values = dict(config)
    elif isinstance(config, str | os.PathLike):
        where = str(config)
        values = _read(Path(config))
    else:
        raise ConfigError(f"settings are a path, a mapping or a RunConfig; got {type(config).__name__}.")
    values = override(values, overrides)
    return validate(config_class(values.get("task"), where=where), values, where=where)


def config_class(task: Any, *, where: str = "") -> type[RunConfig]:
    """The settings class of the task of that name."""
    prefix = f"{where}: " if where else ""
    choices = ", ".join(f'"{name}"' for name in TASKS)
    if task is None:
        raise ConfigError(f"{prefix}task is missing; put task = ... at the top, one of {choices}.")
    if not isinstance(task, str) or task not in TASKS:
        raise ConfigError(
            f"{prefix}task = {task!r} is not known; choose from {choices}.{did_you_mean(str(task), TASKS)}"
        )
    cls: type[RunConfig] = load(TASKS[task].config)
    return cls


def template(task: str, overrides: Iterable[str] = ()) -> RunConfig:
    """Settings with every default, and each required setting's example: what ``regard init`` writes."""
    cls = config_class(task)
    return validate(cls, override({"task": task, "run": f"runs/{task}", **_examples(cls)}, overrides))


def _examples(cls: type[Settings]) -> dict[str, Any]:
    values = {}
    for name, field in cls.model_fields.items():
        if field.examples:
            values[name] = field.examples[0]
        elif field.default is PydanticUndefined and _is_settings(field.annotation):
            values[name] = _examples(field.annotation)
    return values


def _is_settings(annotation: Any) -> TypeGuard[type[Settings]]:
    return isinstance(annotation, type) and issubclass(annotation, Settings)


def _read(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            content = file.read(_LONGEST + 1)
        if len(content) > _LONGEST:
            raise ConfigError(f"{path} is longer than {_LONGEST:,} bytes; a run file is not.")
        return tomllib.loads(content.decode("utf-8").replace("\r\n", "\n"))
    except FileNotFoundError:
        raise ConfigError(f"there is no file {path}. Write one with: regard init translate > {path}") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8 text. Save it as UTF-8.") from None
    except RecursionError:
        raise ConfigError(f"{path} cannot be read: its values are nested too deep.") from None
    except ConfigError:
        raise
    except ValueError as error:  # TOMLDecodeError, or a number of thousands of digits
        raise ConfigError(f"{path} is not TOML: {error}.") from None


def load(path: str) -> Any:
    """The object at ``module:name``."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)
