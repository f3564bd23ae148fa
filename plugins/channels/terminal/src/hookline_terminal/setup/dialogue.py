"""Prompts of ``hookline init``, one line each.

A prompt is repeated while its ``validate`` returns a sentence, which is shown. All prompts raise
``EOFError`` at the end of input.
"""

from __future__ import annotations

import getpass
import shutil
import sys
from collections.abc import Callable, Sequence
from textwrap import wrap

Validator = Callable[[str], str | None]
MIN_SHOWN_SECRET_CHARS = 12
"""The last four characters of a shorter secret would reveal too much of it."""


def tell(*lines: str) -> None:
    """Print lines."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def explain(text: str, first: str = "") -> None:
    """Print a text wrapped to the terminal, with ``first`` before each of its lines."""
    width = max(20, shutil.get_terminal_size().columns - 1)
    for line in text.split("\n"):
        tell(*wrap(f"{first}{line}", width, break_long_words=False, break_on_hyphens=False))


def choose(question: str, options: Sequence[str], preferred: int = 0) -> int:
    """Ask for an option; returns its index. Enter alone picks the preferred one."""
    tell(question, *(f"  {number}  {text}" for number, text in enumerate(options, 1)))
    while True:
        text = input(f"Number [{preferred + 1}]: ").strip()
        if not text:
            return preferred
        if text.isdecimal() and 0 < int(text) <= len(options):
            return int(text) - 1
        tell(f"Enter a number from 1 to {len(options)}.")


def line(question: str, default: str, validate: Validator = lambda _text: None) -> str:
    """Ask for a line of text; Enter alone is the default, if there is one."""
    while True:
        text = input(f"{question} [{default}]: " if default else f"{question}: ").strip() or default
        error = validate(text) if text else "Type something, or leave with Ctrl-C."
        if error is None:
            return text
        tell(error)


def secret(question: str, on_enter: str, validate: Validator = lambda _text: None) -> str:
    """Ask for a text that is not shown; ``on_enter`` says what an empty answer does."""
    while True:
        text = getpass.getpass(f"{question} (not shown; Enter {on_enter}): ").strip()
        error = (key_error(text) or validate(text)) if text else None
        if error is None:
            return text
        tell(error)


def key_error(text: str) -> str | None:
    """Return why a text cannot be a key; None if it can."""
    if any(character.isspace() for character in text):
        return "A key contains no blanks. Paste only the key."
    if any(character in "'\"`" for character in text):
        return "A key contains no quotes. Paste only the key."
    if not (text.isascii() and text.isprintable()):
        return "A key contains only visible ASCII characters. Paste only the key."
    return None


def keeps(value: str) -> str:
    """Return what Enter does if a secret is set."""
    return f"keeps the one {f'ending in …{value[-4:]}' if _may_show_end(value) else 'that is set'}"


def _may_show_end(value: str) -> bool:
    return len(value) >= MIN_SHOWN_SECRET_CHARS


def shown(value: str) -> str:
    """Return how a secret that is set is described."""
    return f"set, ends in …{value[-4:]}" if _may_show_end(value) else "set"
