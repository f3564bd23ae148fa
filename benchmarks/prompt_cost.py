"""What a session's input costs: ``python benchmarks/prompt_cost.py``.

The method and what the numbers mean are in ``docs/benchmarks.md``.
"""

from __future__ import annotations

import argparse
import logging
import sys

from prompt_measure import measure
from prompt_table import NAMES, Sessions, columns, markdown, rows

FULL = 3000
"""Tokens that the whole standard set may take in system prompt and tools (docs: the contract)."""


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Price a session's input on a counting server.")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    parser.add_argument(
        "--stable",
        type=int,
        default=FULL,
        help=f"tokens of the second size of system prompt and tools (default: {FULL})",
    )
    return parser.parse_args()


def sessions(stable: int | None) -> Sessions:
    """The session in every situation."""
    found = {}
    for situation, name in NAMES.items():
        found[situation] = measure(situation, stable)
        size = "as installed" if stable is None else f"{stable} tokens"
        sys.stderr.write(f"{name}, stable tier {size}: {found[situation].input} tokens\n")
    return found


def main() -> None:
    """Measure, show progress on stderr, and print the table."""
    options = arguments()
    logging.disable(logging.WARNING)
    table = rows([sessions(None), sessions(options.stable)])
    sys.stdout.write((markdown if options.markdown else columns)(table) + "\n")


if __name__ == "__main__":
    main()
