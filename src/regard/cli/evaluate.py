"""``regard evaluate``: figures of one model or several on the same sentences, or the same photographs."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.progress import Progress, TaskID
from rich.table import Table

from regard.errors import InputError
from regard.search_options import CAPTIONING, TRANSLATION, SearchOptions

BAR = 20  # characters

if TYPE_CHECKING:
    from regard.captioning.evaluation import CaptionEvaluation
    from regard.translation.evaluation import Evaluation


def evaluate(
    *words: str,
    target: Path | None = None,
    beam: int = TRANSLATION.beam,
    alpha: float | None = None,
    by_length: Annotated[bool, Parameter(negative="")] = False,
    json_: Annotated[bool, Parameter(name="--json", negative="")] = False,
    plot: Path | None = None,
    output: Path | None = None,
    attention: Annotated[bool, Parameter(negative="")] = False,
    gold: Path | None = None,
    seed: int = 0,
) -> None:
    """Measure models on a test set: regard evaluate MODEL [MODEL...] DATA

    Parameters
    ----------
    words
        Models (names or run directories), then the data. For translators a TSV or JSON-lines file of pairs, or the
        source's text file; for captioners JSON lines, CSV, TSV or COCO's JSON of photographs with captions.
    target
        The references' text file, where DATA holds the source sentences alone.
    beam
        Hypotheses kept at every step; 1 is greedy.
    alpha
        Weight of the length penalty, 1.4 for translators and 1.3 for captioners unless given; 0 ranks by probability
        alone.
    by_length
        Show BLEU by the length of the source, in steps of ten words.
    json_
        Print a JSON object a model.
    plot
        Draw the curves of BLEU by length, of all models in one figure: .png, .svg or .pdf. With --attention: of what
        hiding the most attended share costs.
    output
        Write the translations or captions here, a line each (for one model).
    attention
        Measure whether the attention matters instead: what uniform or permuted weights cost, what hiding the most
        attended share of the source costs against as much at random, and for captioners the attention in mosaics.
    gold
        With --attention: gold links of the pairs (i-j sure, ipj possible), for the alignment error rate.
    seed
        With --attention: fixes what is drawn at random.
    """
    *models, data = _checked(words, output, plot)
    task = _task_of(models)
    if gold is not None and not (attention and task == "translate"):
        raise InputError("--gold is for the attention of translators: use it with --attention")
    if attention:
        from regard.cli.attention import evaluate_attention

        evaluate_attention(models, Path(data), task, target=target, gold=gold, seed=seed, json_=json_, plot=plot)
    elif task == "caption":
        if target is not None or by_length or plot is not None:
            raise InputError("--target, --by-length and --plot are for translators; these models write captions")
        _evaluate_captioners(models, Path(data), beam, alpha, json_=json_, output=output)
    else:
        found = _evaluate_translators(models, Path(data), target, beam, alpha)
        _write(output, found[models[0]].translations)
        if json_:
            _print_json(found, beam)
        else:
            _show(found, by_length)
        if plot is not None:
            from regard.show.curve_figures import plot_by_length

            plot_by_length(found, plot)
            sys.stderr.write(f"wrote {plot}\n")


def _checked(words: tuple[str, ...], output: Path | None, plot: Path | None) -> tuple[str, ...]:
    """Models and data, if there are both, and the files to write can be written."""
    if len(words) < 2:
        raise InputError("regard evaluate needs a model and data: regard evaluate runs/mine test.tsv")
    *models, data = words
    if output is not None and len(models) > 1:
        raise InputError(f"--output holds the texts of one model; {len(models)} are given")
    if plot is not None:
        from regard.show.figures import checked_path

        checked_path(plot)
    if output is not None and not output.parent.is_dir():
        raise InputError(f"cannot write {str(output)!r}: there is no folder {str(output.parent)!r}")
    if not Path(data).exists():
        raise InputError(f"there is no corpus file {data} (from {Path.cwd()})")
    return words


def _evaluate_translators(
    models: list[str], data: Path, target: Path | None, beam: int, alpha: float | None
) -> dict[str, Evaluation]:
    from regard.cli.pairs import corpus_of, pairs_for
    from regard.translation.evaluation import evaluate as measure
    from regard.translation.translator import Translator

    corpus = corpus_of(data, target)
    found = {}
    with Progress(console=Console(stderr=True), transient=True) as progress:
        for name in models:
            translator = Translator.load(name)
            pairs = pairs_for(translator, corpus)
            bar = progress.add_task(name, total=len(pairs))
            done = partial(_advance, progress, bar)
            found[name] = measure(translator, pairs, beam=beam, alpha=_alpha(alpha, TRANSLATION), report=done)
    return found


def _alpha(alpha: float | None, defaults: SearchOptions) -> float:
    return defaults.alpha if alpha is None else alpha


def _task_of(models: list[str]) -> str:
    """What the models were trained for; all the same."""
    from regard.training import runs
    from regard.training.config import load_config

    tasks = {name: load_config(runs.find(name) / "config.toml").task for name in models}
    if len(set(tasks.values())) > 1:
        found = ", ".join(f"{name}: {task}" for name, task in tasks.items())
        raise InputError(f"models are compared on the same data, so they must do the same; got {found}")
    return next(iter(tasks.values()))


def _evaluate_captioners(
    models: list[str], data: Path, beam: int, alpha: float | None, *, json_: bool, output: Path | None
) -> None:
    from regard.captioning.captioner import Captioner
    from regard.captioning.corpus import CaptionCorpus
    from regard.captioning.evaluation import evaluate as measure

    examples = list(CaptionCorpus(data))
    found = {}
    with Progress(console=Console(stderr=True), transient=True) as progress:
        for name in models:
            bar = progress.add_task(name, total=len(examples))
            done = partial(_advance, progress, bar)
            captioner = Captioner.load(name)
            found[name] = measure(captioner, examples, beam=beam, alpha=_alpha(alpha, CAPTIONING), report=done)
    _write(output, found[models[0]].captions)
    if json_:
        _print_json(found, beam)
    else:
        _show_captioners(found)


def _write(output: Path | None, lines: list[str]) -> None:
    from regard.files import write_text

    if output is not None:
        write_text(output, "".join(f"{line}\n" for line in lines))


def _print_json(found: Mapping[str, Evaluation | CaptionEvaluation], beam: int) -> None:
    for name, evaluation in found.items():
        sys.stdout.write(json.dumps({"model": name, "beam": beam, **evaluation.to_json()}, ensure_ascii=False) + "\n")


def _advance(progress: Progress, bar: TaskID, completed: int) -> None:
    progress.update(bar, completed=completed)


def _show(found: dict[str, Evaluation], by_length: bool) -> None:
    console = Console()
    table = Table(*("model", "sentences", "BLEU", "chrF", "loss"))
    for name, e in found.items():
        table.add_row(name, str(e.sentences), f"{e.bleu:.2f}", f"{e.chrf:.2f}", f"{e.loss:.4f}")
    console.print(table)
    if by_length:
        console.print(_by_length(found))
    for name, signature in next(iter(found.values())).signatures.items():
        console.print(f"{name}: {signature}", soft_wrap=True, highlight=False)


def _by_length(found: dict[str, Evaluation]) -> Table:
    """BLEU in each range of lengths with a bar for it, so that the curve is seen without a picture."""
    table = Table("words", "sentences", *(f"BLEU {name}" for name in found))
    ranges: dict[tuple[int, int], int] = {}
    for evaluation in found.values():
        for bucket in evaluation.buckets:
            place = bucket.first, bucket.last
            ranges[place] = max(ranges.get(place, 0), bucket.sentences)
    scores = [{bucket.first: bucket.bleu for bucket in evaluation.buckets} for evaluation in found.values()]
    for (first, last), sentences in sorted(ranges.items()):
        bars = (_bar(by_first[first]) if first in by_first else "" for by_first in scores)
        table.add_row(f"{first}-{last}", str(sentences), *bars)
    return table


def _bar(bleu: float) -> str:
    """The score and a bar of up to 20 blocks.

    >>> _bar(51.25)
    ' 51.25 ██████████▎'
    """
    eighths = round(bleu / 100 * BAR * 8)
    return f"{bleu:6.2f} " + "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def _show_captioners(found: dict[str, CaptionEvaluation]) -> None:
    """A row for each figure: there are too many for columns."""
    console = Console()
    evaluations = list(found.values())
    table = Table("", *found)
    table.add_row("photographs", *(str(e.photographs) for e in evaluations))
    for name in evaluations[0].scores:
        table.add_row(name, *(f"{e.scores[name]:.2f}" for e in evaluations))
    table.add_row("exact", *(f"{e.exact:.1%}" for e in evaluations))
    table.add_row("loss", *(f"{e.loss:.4f}" for e in evaluations))
    table.add_row("entropy of the maps", *(f"{e.maps.entropy:.3f}" for e in evaluations))
    table.add_row("moves", *(f"{e.maps.moves:.1%}" for e in evaluations))
    console.print(table)
    console.print(evaluations[0].signature, soft_wrap=True, highlight=False)
