"""The protocol of key sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hookline_hookspecs import Refused

from ..config import VaultConfig
from ..envelope import WrappingKey


class KeyUnavailable(Refused):
    """A source cannot be read, or its key cannot be used; the text says what to do."""


@dataclass(frozen=True, slots=True)
class KeyContext:
    """What sources are created with: the home, the environment and the settings of the vault."""

    home: Path
    env: Mapping[str, str]
    config: VaultConfig

    def __repr__(self) -> str:  # the environment holds secrets
        return f"KeyContext({str(self.home)!r})"


class KeySource(Protocol):
    """Where keys are stored. Created as ``Source(context: KeyContext)``; methods may block."""

    name: str
    """The name of its entry point."""

    def find(self, reference: str) -> WrappingKey | None:
        """Return the key with this reference, or None. Raises :class:`KeyUnavailable`."""

    def current(self) -> WrappingKey | None:
        """Return the key for a vault that has none yet, or None if the source has none."""

    def prepare(self) -> WrappingKey:
        """Return the next key, stored next to the current one so that :meth:`find` finds both.

        A process may be killed before :meth:`promote`; the next call returns the same key. Raises
        :class:`KeyUnavailable`.
        """

    def promote(self, key: WrappingKey) -> str:
        """Make the key that :meth:`prepare` returned the current one, and forget the old one.

        Return what a person has to do, as a sentence, or an empty text.
        """
