"""Small random models of many Hugging Face families: are the recorded weights those of eager attention?

    python -m benchmarks.inspection.families            all of them, and the table of README.md anew
    python -m benchmarks.inspection.families bert t5    only these, printed

For each family the model runs as it comes (fused where it can be), once alone and once recorded: its outputs must be
bit-equal. The same weights run with eager attention and ``output_attentions=True``; the largest difference between its
weights and the recorded ones is the figure.
"""

from __future__ import annotations

import logging
import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import torch
import transformers
from torch import Tensor, nn

import regard
from benchmarks.inspection.configurations import FAMILIES, LEFT_OUT, Family, inputs_of

README = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- families -->", "<!-- /families -->"
BAR = 1e-6


class Row(NamedTuple):
    """What was found of one family."""

    family: str
    maps: int
    equal: bool
    difference: float
    implementation: str
    problem: str = ""

    @property
    def passed(self) -> bool:
        return not self.problem and self.equal and self.difference <= BAR


def main(names: list[str]) -> int:
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    chosen = [family for family in FAMILIES if not names or family.name in names]
    rows = []
    for family in chosen:
        row = measured(family)
        rows.append(row)
        mark = "ok" if row.passed else "FAILED"
        print(
            f"{row.family:22} {row.maps:3} maps  {row.difference:.1e}  {row.implementation:6} {mark} {row.problem}",
            flush=True,
        )
    print(f"{sum(row.passed for row in rows)} of {len(rows)} families")
    if not names:
        write(rows)
    return 0 if all(row.passed for row in rows) else 1


def measured(family: Family) -> Row:
    try:
        return _measured(family)
    except Exception as error:
        text = str(error).strip().splitlines()
        return Row(family.name, 0, False, float("nan"), "", f"{type(error).__name__}: {text[0][:200] if text else ''}")


@torch.no_grad()
def _measured(family: Family) -> Row:
    torch.manual_seed(0)
    config = family.config()
    model = getattr(transformers, family.model)._from_config(config).eval()
    inputs = inputs_of(family, config)
    alone = model(**inputs)
    with regard.record(model) as recorded:
        watched = model(**inputs)
    equal = all(torch.equal(a, b) for a, b in zip(tensors(alone), tensors(watched), strict=True))
    eager = getattr(transformers, family.model)._from_config(family.config(), attn_implementation="eager").eval()
    eager.load_state_dict(model.state_dict())
    expected = references(eager, inputs)
    names = [name for name in recorded if not any(part in name for part in family.unreported)]
    maps = ordered(names, expected)
    largest = max(difference(recorded[name], table) for name, table in maps)
    return Row(family.name, len(recorded), equal, largest, model.config._attn_implementation or "own")


def references(eager: nn.Module, inputs: dict[str, Any]) -> dict[str, list[Tensor]]:
    """The weights of eager attention: of the encoder, of the decoder and across, or of the only stack."""
    output = eager(**inputs, output_attentions=True)
    found = {}
    for kind in ("attentions", "encoder_attentions", "decoder_attentions", "cross_attentions"):
        tables = getattr(output, kind, None)
        if tables is not None and any(table is not None for table in tables):
            found[kind] = [table for table in tables if table is not None]
    if not found:
        raise ValueError("eager attention gave no weights")
    return found


def ordered(names: list[str], expected: dict[str, list[Tensor]]) -> list[tuple[str, Tensor]]:
    """Each table with the map it must equal, in the order in which the layers ran."""
    if "decoder_attentions" not in expected:
        tables = expected["attentions"]
        if len(names) != len(tables):
            raise ValueError(f"{len(names)} maps were recorded, {len(tables)} tables came from eager attention")
        return list(zip(names, tables, strict=True))
    inside = [name for name in names if ".decoder." in f".{name}" or ".decoder_" in f".{name}"]
    sides = {
        "encoder_attentions": [name for name in names if name not in inside],
        "decoder_attentions": inside[::2],
        "cross_attentions": inside[1::2],
    }
    pairs = []
    for kind, side in sides.items():
        tables = expected.get(kind, [])
        if len(side) != len(tables):
            raise ValueError(f"{len(side)} maps for {len(tables)} tables of {kind}")
        pairs += zip(side, tables, strict=True)
    return pairs


def difference(found: regard.inspection.attention_map.AttentionMap, table: Tensor) -> float:
    """The largest between a map and a table (b, h, q, k)."""
    batch, heads = found.shape[:2]
    if tuple(table.shape) != found.shape:
        raise ValueError(f"{found.name}: the map is {found.shape}, the table {tuple(table.shape)}")
    return max(float((found[b, h].weights() - table[b, h]).abs().max()) for b in range(batch) for h in range(heads))


def tensors(output: Any) -> list[Tensor]:
    """Of a model's output."""
    values = output.to_tuple() if hasattr(output, "to_tuple") else tuple(output)
    return [value for value in values if isinstance(value, Tensor)]


def write(rows: list[Row]) -> None:
    """The table into README.md, between its marks."""
    passed = [row for row in rows if row.passed]
    lines = [
        f"{len(passed)} families, transformers {transformers.__version__}, torch {torch.__version__.split('+')[0]}: "
        f"outputs bit-equal while recording, and weights within {BAR:.0e} of eager attention's.",
        "",
        "| family | maps | runs by | largest difference |",
        "|---|---|---|---|",
        *(f"| {row.family} | {row.maps} | {row.implementation} | {row.difference:.1e} |" for row in passed),
        "",
        "Left out, and why:",
        "",
        "| family | reason |",
        "|---|---|",
        *(f"| {row.family} | {_reason(row)} |" for row in rows if not row.passed),
        *(f"| {name} | {reason} |" for name, reason in LEFT_OUT.items()),
    ]
    before, _, rest = README.read_text("utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    README.write_text(f"{before}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{after}", "utf-8")


def _reason(row: Row) -> str:
    if row.problem:
        return row.problem
    return f"outputs {'equal' if row.equal else 'differ'}, largest difference {row.difference:.1e}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
