"""The service with which a plugin offers slash commands that it knows only while Hookline runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from .parts import Command

__all__ = ["CommandSource"]


class CommandSource(Protocol):
    """Offers slash commands; add one with ``host.services.add(CommandSource, …)`` in ``setup``.

    A command that a plugin registers with ``@command`` wins over an offered one of the same name or
    alias, and an earlier source over a later one.
    """

    plugin: str
    """The name of the plugin that offers them."""

    def commands(self) -> Sequence[Command]:
        """Return the commands that there are now."""
        return ()
