"""Asks the person for confirmation, and prints messages."""

from __future__ import annotations

import sys
from typing import Protocol

from .errors import USAGE, InstallerError


def say(text: str) -> None:
    """Print a line to stdout."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def warn(text: str) -> None:
    """Print a line to stderr."""
    sys.stderr.write(f"hookline: {text}\n")
    sys.stderr.flush()


class Confirmer(Protocol):
    """Answers the questions of a command."""

    def confirm(self, question: str) -> bool:
        """Whether to continue with the plan that was shown."""

    def confirm_breakage(self, question: str) -> bool:
        """Whether to continue although something would break."""


class TerminalConfirmer:
    """Asks on the terminal; anything but yes means no."""

    def confirm(self, question: str) -> bool:
        """Ask on the terminal."""
        sys.stderr.write(f"{question} [y/N] ")
        sys.stderr.flush()
        return sys.stdin.readline().strip().lower() in ("y", "yes")

    def confirm_breakage(self, question: str) -> bool:
        """Ask on the terminal."""
        return self.confirm(question)


class AssumeYes:
    """``--yes``: confirms everything except a plan that breaks something."""

    def confirm(self, question: str) -> bool:
        """True."""
        return True

    def confirm_breakage(self, question: str) -> bool:
        """False, because no person has seen what would break."""
        return False


def terminal_confirmer(command: str) -> Confirmer:
    """Asks the person at the terminal. Raises InstallerError if stdin is not a terminal."""
    if not sys.stdin.isatty():
        raise InstallerError(
            "there is no terminal to ask on, so nothing was changed. "
            f"Add --yes to `{command}` to run it without a question.",
            USAGE,
        )
    return TerminalConfirmer()
