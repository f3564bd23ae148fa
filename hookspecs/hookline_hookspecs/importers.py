"""Services that import data: each plugin imports its own kinds of items into its own tables.

A plugin adds an :class:`Importer` with ``host.services.add(Importer, …)``. The plugin that reads
another program's data passes it :class:`Item` objects. The plugin that makes conversations
searchable adds a :class:`SearchIndex`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

__all__ = ["Importer", "Item", "LateImporter", "Outcome", "Receipt", "SearchIndex", "State"]

State: TypeAlias = Literal[
    "planned", "migrated", "archived", "skipped", "conflict", "blocked", "error"
]
"""``planned``: would be imported, or its import was undone. ``archived``: exceeds a limit, so it
goes into a file. ``skipped``: needs no import. ``conflict``: existing data is in the way.
``blocked``: refused, or waits for something. ``error``: failed."""
Receipt: TypeAlias = Mapping[str, Any]
"""What an importer needs to undo the import of an item; JSON."""


@dataclass(frozen=True, slots=True)
class Item:
    """An item to import.

    Attributes:
        id: the same for the same item of the same source every time it is read.
        kind: what it is, such as ``note``; it determines the importer.
        source: where it is from, as shown to people: ``hermes: memories/MEMORY.md``.
        data: the item itself, as JSON; the plugin that imports the kind defines its fields.
    """

    id: str
    kind: str
    source: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The actual or planned result for an item.

    ``target`` is its new place, as shown to people. ``reason`` is a sentence, always present unless
    the state is ``planned`` or ``migrated``. ``text`` is, for an item to be archived, its text
    after the guards.
    """

    state: State
    target: str = ""
    reason: str = ""
    receipt: Receipt = field(default_factory=dict)
    text: str = ""


class Importer(Protocol):
    """Imports items of its plugin's kinds. Texts pass ``pre_learn`` or ``pre_read`` first."""

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds that it imports."""

    async def look(self, item: Item) -> Outcome:
        """Return what :meth:`take` would do, ``planned`` for an import; changes nothing."""

    async def take(self, item: Item, *, again: bool = False) -> Outcome:
        """Import the item.

        ``again``: an earlier attempt may have been killed, so equal existing data counts as
        imported by it. Raises ``HooklineError`` if it fails.
        """

    async def give_back(self, kind: str, receipt: Receipt) -> Outcome:
        """Remove what :meth:`take` created and return ``planned``.

        If a person has changed it since, it stays; return ``migrated`` with a reason.
        """


class LateImporter:
    """An :class:`Importer` whose implementation is created on first use.

    Args:
        kinds: the kinds that it imports.
        make: creates the implementation.
    """

    def __init__(self, kinds: frozenset[str], make: Callable[[], Importer]) -> None:
        self.kinds = kinds
        self._make = make
        self._made: Importer | None = None

    @property
    def _real(self) -> Importer:
        if self._made is None:
            self._made = self._make()
        return self._made

    async def look(self, item: Item) -> Outcome:
        """As :meth:`Importer.look`."""
        return await self._real.look(item)

    async def take(self, item: Item, *, again: bool = False) -> Outcome:
        """As :meth:`Importer.take`."""
        return await self._real.take(item, again=again)

    async def give_back(self, kind: str, receipt: Receipt) -> Outcome:
        """As :meth:`Importer.give_back`."""
        return await self._real.give_back(kind, receipt)


class SearchIndex(Protocol):
    """Makes stored conversations searchable; added with ``host.services.add``."""

    async def catch_up(self) -> None:
        """Return once everything that is stored is searchable."""
