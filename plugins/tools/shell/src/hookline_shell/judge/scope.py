"""What unquoting needs of the shell around it."""

from __future__ import annotations

from typing import Protocol

MOST = 24
"""Alternatives of one command that are followed."""


class Scope(Protocol):
    """What unquoting needs to know of the shell around it."""

    def lookup(self, name: str) -> list[str]:
        """The values a parameter may have; one is :data:`UNKNOWN` if it is not set here."""

    def is_set(self, name: str) -> bool:
        """True if the command itself gave the parameter a value."""

    def assign(self, name: str, values: list[str]) -> None:
        """Set a variable."""

    def substitute(self, script: str) -> str:
        """What ``script`` would put out; it is judged on the way."""

    def process(self, script: str, sign: str) -> str:
        """The path of a process substitution, ``sign`` being ``<`` or ``>``."""

    def home(self, user: str) -> str:
        """A home folder; the person's own for an empty name."""
