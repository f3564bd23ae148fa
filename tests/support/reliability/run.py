"""``python -m support.reliability.run SCENARIO``: run a scenario and print its result."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import sys
from dataclasses import replace
from typing import Any

from .result import Result

SCENARIOS = ("storm", "chats", "restart", "storage", "soak", "limits", "idle", "cluster", "pace")
SEED = 20260


def run(name: str, long: bool = False, seed: int = SEED, **changes: Any) -> Result:
    """Run a scenario in its short or long form, some of its figures changed."""
    scenario = importlib.import_module(f"{__package__}.{name}")
    much = scenario.LONG if long else scenario.SHORT
    kinds = {field: type(value) for field, value in vars(much).items()}
    made = {field: _as(kinds[field], value) for field, value in changes.items()}
    result: Result = asyncio.run(scenario.run(seed, replace(much, **made)))
    return result


def _as(kind: type, value: Any) -> Any:
    return value in ("true", "1", True) if kind is bool else kind(value)


def main(arguments: list[str]) -> int:
    """The command; 1 if anything is not as it must be. Times and sizes count with ``--long``."""
    parser = argparse.ArgumentParser(prog="support.reliability.run", description=__doc__)
    parser.add_argument("scenario", choices=SCENARIOS)
    parser.add_argument("--long", action="store_true", help="the long form")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--json", action="store_true", help="one line of JSON")
    parser.add_argument(
        "--with",
        dest="changes",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="another figure than the form's, such as messages=2000",
    )
    given = parser.parse_args(arguments)
    changes = dict(change.split("=", 1) for change in given.changes)
    result = run(given.scenario, given.long, given.seed, **changes)
    print(result.line() if given.json else result.table(), flush=True)
    return int(bool(result.broken(targets=given.long)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
