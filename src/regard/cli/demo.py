"""``regard demo``: the worked examples, step by step, with their pictures."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from regard import worked
from regard.errors import InputError
from regard.show.figures import plot_steps
from regard.show.terminal import print_steps


def demo(*, out: Path = Path("demo")) -> None:
    """Run the worked examples and write their pictures.

    Parameters
    ----------
    out
        The folder for the pictures; made if it is not there.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {out}: {error.strerror}. Choose another with --out.") from None
    console = Console()
    examples = {
        "a decoder state looks at four annotations": ("first", worked.first()),
        "four words attend to each other, softmax row by row: attention as it is defined": ("second", worked.second()),
        "the same with one softmax over the whole matrix: the result that is widely published": (
            "second-whole-matrix",
            worked.second(over_the_whole_matrix=True),
        ),
    }
    for title, (name, attended) in examples.items():
        console.print(f"[bold reverse] {title} [/]\n", soft_wrap=True)
        shown = [step for step in attended.steps() if step.value.ndim <= 2]  # a table for each query would be long
        print_steps(shown, console)
        console.print(f"picture: {plot_steps(shown, out / f'{name}.png')}\n", soft_wrap=True, highlight=False)
