"""Print a pip constraint for each wheel in a folder: ``name @ file:///…``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path


def constraints(folder: Path) -> Iterator[str]:
    """Yield a line for each wheel. A wheel's file name begins with its name (PEP 427)."""
    for wheel in sorted(folder.resolve().glob("*.whl")):
        name = wheel.name.partition("-")[0].replace("_", "-")
        yield f"{name} @ {wheel.as_uri()}"


if __name__ == "__main__":
    sys.stdout.write("".join(f"{line}\n" for line in constraints(Path(sys.argv[1]))))
