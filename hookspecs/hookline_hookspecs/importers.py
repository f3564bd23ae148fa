"""Services that import data: each plugin imports its own kinds into its own tables.

A plugin offers an :class:`Importer` with ``host.services.add(Importer, …)``; whoever reads the
data of another program hands it :class:`Item` objects. :class:`SearchIndex` is offered by what
makes conversations searchable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

__all__ = ["Importer", "Item", "LateImporter", "Outcome", "Receipt", "SearchIndex", "State"]

State: TypeAlias = Literal[
    "planned", "migrated", "archived", "skipped", "conflict", "blocked", "error"
]
"""``planned`` would be taken or was given back; ``archived`` is over a limit, so that it belongs
into a file; ``skipped`` needs nothing; ``conflict`` is held up by what is there already;
``blocked`` is refused or waits for something; ``error`` failed."""
Receipt: TypeAlias = Mapping[str, Any]
"""What an importer needs in order to give an item back; JSON."""


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to be taken in.

    Attributes:
        id: the same for the same thing of the same source, whenever it is read.
        kind: what it is, such as ``note``; it decides which importer gets it.
        source: where it was, for a person: ``hermes: memories/MEMORY.md``.
        data: the thing itself, in JSON; what each kind holds is in the library's README.
    """

    id: str
    kind: str
    source: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became, or would become, of an item.

    ``target`` is where it is, for a person; ``reason`` a sentence wherever the state is not
    ``planned`` or ``migrated``, and otherwise where there is something to say. ``text`` is what
    passed the gates of an item that is to be archived.
    """

    state: State
    target: str = ""
    reason: str = ""
    receipt: Receipt = field(default_factory=dict)
    text: str = ""


class Importer(Protocol):
    """Takes in items of its plugin's kinds. Texts pass ``pre_learn`` or ``pre_read`` first."""

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds it takes."""

    async def look(self, item: Item) -> Outcome:
        """Return what :meth:`take` would do, with ``planned`` where it would; changes nothing."""

    async def take(self, item: Item, *, again: bool = False) -> Outcome:
        """Take the item in.

        ``again``: an earlier attempt may have been killed, so that what is there and equal is
        its work. Raises ``HooklineError`` if it fails.
        """

    async def give_back(self, kind: str, receipt: Receipt) -> Outcome:
        """Remove what :meth:`take` made; ``planned`` if that is done, or ``migrated`` with a
        reason where a person has changed it since, so that it stays."""


class LateImporter:
    """An :class:`Importer` that is imported when it is first asked.

    Args:
        kinds: the kinds it takes.
        make: makes the real one.
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
    """Makes stored conversations searchable; offered with ``host.services.add``."""

    async def catch_up(self) -> None:
        """Return once everything that is stored can be found."""
