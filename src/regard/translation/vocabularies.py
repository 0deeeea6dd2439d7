"""The two vocabularies of a translator: learned, given or stored; one object for both sides where they share one."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from regard.files import file_digest, remove_leftovers, write_bytes, write_text
from regard.text.vocabulary import Vocabulary
from regard.translation.config import VocabularyConfig
from regard.translation.corpus import Corpus


class Vocabularies(NamedTuple):
    """The source's and the target's; the same object where they share one."""

    source: Vocabulary
    target: Vocabulary


def stored_vocabularies(run: Path, config: VocabularyConfig) -> Vocabularies:
    """Those of a run directory."""
    return _load([run / name for name in _names(config)], config)


def store_vocabularies(vocabularies: Vocabularies, run: Path, config: VocabularyConfig) -> None:
    """Write them into a run directory."""
    for name, vocabulary in zip(_names(config), vocabularies, strict=False):
        write_bytes(run / name, vocabulary.model)


def given_vocabularies(config: VocabularyConfig) -> Vocabularies | None:
    """Those the settings name, if they do."""
    paths = [Path(path) for path in (config.source_file, config.target_file) if path]
    return _load(paths, config) if paths else None


def learned_vocabularies(
    corpora: Sequence[Corpus],
    weights: Sequence[float],
    config: VocabularyConfig,
    cache: Path,
    *,
    report: Callable[[str], None] = lambda _: None,
) -> Vocabularies:
    """Learn them from the corpora, each sentence as often as training sees it; or find them in the cache."""
    key = _key(corpora, weights, config)
    paths = [cache / f"{key}-{name}" for name in _names(config)]
    damaged = [path for path in paths if path.exists() and not _whole(path)]
    for path in damaged:
        report(f"{path}, a learned vocabulary, is damaged; learning it anew")
    if damaged or not all(path.exists() for path in paths):
        cache.mkdir(parents=True, exist_ok=True)
        remove_leftovers(cache)
        sides = [(0, 1)] if config.shared else [(0,), (1,)]
        for path, wanted in zip(paths, sides, strict=True):
            report(f"learning the {path.name.removeprefix(key + '-').removesuffix('.model')}")
            learned = Vocabulary.learn(_sentences(corpora, weights, wanted), config).model
            write_text(_digest_path(path), hashlib.blake2b(learned, digest_size=16).hexdigest())  # first: never without
            write_bytes(path, learned)
    return _load(paths, config)


def _whole(path: Path) -> bool:
    """Whether a learned vocabulary is as it was written; of older versions, which kept no digest, it is assumed."""
    digest = _digest_path(path)
    return not digest.exists() or digest.read_bytes() == file_digest(path).encode()


def _digest_path(path: Path) -> Path:
    return path.with_suffix(".blake2b")


def _names(config: VocabularyConfig) -> list[str]:
    return ["vocabulary.model"] if config.shared else ["vocabulary.source.model", "vocabulary.target.model"]


def _load(paths: list[Path], config: VocabularyConfig) -> Vocabularies:
    """From one file, or two."""
    loaded = [Vocabulary.load(p, lowercase=config.lowercase, normalization=config.normalization) for p in paths]
    return Vocabularies(loaded[0], loaded[-1])


def _key(corpora: Sequence[Corpus], weights: Sequence[float], config: VocabularyConfig) -> str:
    parts = {
        "corpora": [corpus.identity() for corpus in corpora],
        "weights": list(weights),
        "settings": config.model_dump(exclude={"source_file", "target_file"}),
    }
    return hashlib.blake2b(json.dumps(parts, sort_keys=True).encode(), digest_size=12).hexdigest()


def _sentences(corpora: Sequence[Corpus], weights: Sequence[float], sides: tuple[int, ...]) -> Iterator[str]:
    for corpus, weight in zip(corpora, weights, strict=True):
        for number, pair in enumerate(corpus):
            for _ in range(math.floor(weight * (number + 1)) - math.floor(weight * number)):
                for side in sides:
                    yield pair[side]
