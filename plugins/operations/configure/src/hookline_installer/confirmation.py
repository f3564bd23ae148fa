"""The person who is asked before anything changes, and what they are told."""

from __future__ import annotations

import sys
from typing import Protocol

from .errors import USAGE, Stop


def say(text: str) -> None:
    """A line to stdout."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def warn(text: str) -> None:
    """A line to stderr."""
    sys.stderr.write(f"hookline: {text}\n")
    sys.stderr.flush()


class Person(Protocol):
    """Who answers."""

    def agrees(self, question: str) -> bool:
        """Whether to go on with what was shown."""

    def risks(self, question: str) -> bool:
        """Whether to go on although something would break."""


class AtTerminal:
    """Answers on the terminal; anything but yes is no."""

    def agrees(self, question: str) -> bool:
        """Ask."""
        sys.stderr.write(f"{question} [y/N] ")
        sys.stderr.flush()
        return sys.stdin.readline().strip().lower() in ("y", "yes")

    def risks(self, question: str) -> bool:
        """Ask."""
        return self.agrees(question)


class SaidYes:
    """``--yes``: agrees to what was asked for, and to nothing that breaks."""

    def agrees(self, question: str) -> bool:
        """Yes."""
        return True

    def risks(self, question: str) -> bool:
        """Nobody has seen what would break: no."""
        return False


def terminal(command: str) -> Person:
    """The person at the terminal. Raises Stop if there is none."""
    if not sys.stdin.isatty():
        raise Stop(
            f"there is no terminal to ask on, so nothing was done; "
            f"add --yes to `{command}` if you mean it.",
            USAGE,
        )
    return AtTerminal()
