"""Prints the lower bound of every dependency as a pip constraint, for `make test-lowest`.

torch is left to pip: builds of its lowest version for the CPU alone are not offered everywhere.
"""

import re
import sys
import tomllib
from pathlib import Path


def constraints(pyproject: Path) -> list[str]:
    project = tomllib.loads(pyproject.read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["test"]]
    bounds = (re.match(r"([\w-]+)>=([\w.]+)", line) for line in wanted)
    return sorted({f"{bound[1]}=={bound[2]}" for bound in bounds if bound and bound[1] != "torch"})


if __name__ == "__main__":
    sys.stdout.write("\n".join(constraints(Path(__file__).parents[1] / "pyproject.toml")) + "\n")
