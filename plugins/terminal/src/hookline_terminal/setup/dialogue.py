"""Questions on the terminal, one line each."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Sequence


def tell(*lines: str) -> None:
    """Lines for the person."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def choose(question: str, options: Sequence[str], preferred: int = 0) -> int:
    """The index of an option. Raises ``EOFError`` at the end of input."""
    tell(question, *(f"  {number}  {text}" for number, text in enumerate(options, 1)))
    while True:
        text = input(f"Number [{preferred + 1}]: ").strip()
        if not text:
            return preferred
        if text.isdecimal() and 0 < int(text) <= len(options):
            return int(text) - 1
        tell(f"Write a number from 1 to {len(options)}.")


def line(question: str, default: str) -> str:
    """A line of text; Enter alone is the default."""
    return input(f"{question} [{default}]: ").strip() or default


def secret(question: str) -> str:
    """A text that is not shown; empty for none."""
    while True:
        text = getpass.getpass(f"{question} (hidden, empty to skip): ").strip()
        if text.isprintable() and "'" not in text:
            return text
        tell("That holds characters that no key has, such as a quote; paste the key alone.")
