"""What a source of keys is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hookline_hookspecs import Refused

from ..config import VaultConfig
from ..envelope import Key


class KeyFault(Refused):
    """A source has a key and does not give it, or cannot be asked; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where Hookline runs: its home, the environment, and the settings of the vault."""

    home: Path
    env: Mapping[str, str]
    config: VaultConfig

    def __repr__(self) -> str:  # the environment holds secrets
        return f"Place({str(self.home)!r})"


class KeySource(Protocol):
    """A place where the key is kept. Made as ``Source(place: Place)``; its methods may block."""

    name: str
    """That of its entry point."""

    def find(self, reference: str) -> Key | None:
        """Return the key of this reference, or None if it is not here. Raises :class:`KeyFault`."""

    def current(self) -> Key | None:
        """Return the key for a vault that has none yet, or None if there is none here."""

    def prepare(self) -> Key:
        """Return the next key, kept in addition to the present one so that :meth:`find` finds both.

        A process may be killed before :meth:`promote`; the next call returns the same key. Raises
        :class:`KeyFault`.
        """

    def promote(self, key: Key) -> str:
        """Make what :meth:`prepare` returned the present key, and forget the one before. Return a
        sentence about what a person has to do for that, or an empty text."""
