"""Questions on the terminal, one line each.

A function that asks takes ``fault``, which says in a sentence why an answer will not do; it is then
asked again. All raise ``EOFError`` at the end of input.
"""

from __future__ import annotations

import getpass
import shutil
import sys
from collections.abc import Callable, Sequence
from textwrap import wrap

Fault = Callable[[str], str | None]
SHORTEST_SHOWN = 12
"""Characters of a key of which the last four are shown; of a shorter one they would tell much."""


def tell(*lines: str) -> None:
    """Lines for the person."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def explain(text: str, first: str = "") -> None:
    """A sentence or several, in lines as wide as the terminal; ``first`` stands before them."""
    width = max(20, shutil.get_terminal_size().columns - 1)
    for line in text.split("\n"):
        tell(*wrap(f"{first}{line}", width, break_long_words=False, break_on_hyphens=False))


def choose(question: str, options: Sequence[str], preferred: int = 0) -> int:
    """The index of an option; Enter alone is the preferred one."""
    tell(question, *(f"  {number}  {text}" for number, text in enumerate(options, 1)))
    while True:
        text = input(f"Number [{preferred + 1}]: ").strip()
        if not text:
            return preferred
        if text.isdecimal() and 0 < int(text) <= len(options):
            return int(text) - 1
        tell(f"Write a number from 1 to {len(options)}.")


def line(question: str, default: str, fault: Fault = lambda _text: None) -> str:
    """A line of text; Enter alone is the default, where there is one."""
    while True:
        text = input(f"{question} [{default}]: " if default else f"{question}: ").strip() or default
        told = fault(text) if text else "Write something, or leave with Ctrl-C."
        if told is None:
            return text
        tell(told)


def secret(question: str, empty: str, fault: Fault = lambda _text: None) -> str:
    """A text that is not shown; Enter alone is none, which means ``empty``."""
    while True:
        text = getpass.getpass(f"{question} (not shown; Enter {empty}): ").strip()
        told = (key_fault(text) or fault(text)) if text else None
        if told is None:
            return text
        tell(told)


def key_fault(text: str) -> str | None:
    """Why a text is no key."""
    if any(character.isspace() for character in text):
        return "There is a blank in it, and no key has one; paste the key alone."
    if any(character in "'\"`" for character in text):
        return "There is a quote in it, and no key has one; paste the key alone."
    if not (text.isascii() and text.isprintable()):
        return "It holds a character that no key has; paste the key alone."
    return None


def keeps(value: str) -> str:
    """What Enter does where a secret is set."""
    return f"keeps the one {f'ending in …{value[-4:]}' if _is_told(value) else 'that is set'}"


def _is_told(value: str) -> bool:
    """Whether a secret is so long that its end may be shown."""
    return len(value) >= SHORTEST_SHOWN


def shown(value: str) -> str:
    """How a secret that is set is told of."""
    return f"set, ends in …{value[-4:]}" if _is_told(value) else "set"
