"""Hands each item to whoever owns its kind, and notes what became of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from hookline_hookspecs import HooklineError, Host
from hookline_hookspecs.crash import point
from hookline_hookspecs.importers import Importer, Item, Outcome, SearchIndex

from .conversations import ConversationImporter
from .documents import DocumentImporter, archived, remove_unchanged
from .journal import Journal
from .outside import KINDS as OUTSIDE
from .outside import Outside
from .sources import Source
from .sources.base import Entry

Row: TypeAlias = dict[str, Any]
DONE = ("migrated", "archived")
OWN_IDS = frozenset({"session", "job"})
"""Kinds that have ids which follow from the items': what is there of such an id is ours."""
PLUGINS = {
    "note": "memory",
    "fact": "memory",
    "user": "user-model",
    "job": "scheduler",
    "person": "access",
    "skill": "skills",
}
KINDS = (*PLUGINS, "document", "session", *sorted(OUTSIDE), "login", "other")


def row_of(item: Item, outcome: Outcome) -> Row:
    """What a person or a program is told of an item."""
    return {
        "id": item.id,
        "kind": item.kind,
        "source": item.source,
        "target": outcome.target,
        "state": outcome.state,
        "reason": outcome.reason,
    }


class Before:
    """What is known of an item without asking anybody."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def settled(self, entry: Entry) -> Outcome | None:
        """What was found when it was read, or done earlier; None if there is something to do."""
        if entry.outcome is not None:
            return entry.outcome
        known = self._journal.rows.get(entry.item.id, {})
        if known.get("state") in DONE and known.get("version", "") == entry.version:
            return Outcome(known["state"], known["target"], known["reason"])
        return None

    def begun(self, item: Item) -> bool:
        """Whether an attempt to take it may have been killed."""
        return bool(self._journal.rows.get(item.id, {}).get("state") == "begun")

    def grown(self, entry: Entry) -> Row | None:
        """The earlier line of an item that has changed in its own program since."""
        known = self._journal.rows.get(entry.item.id, {})
        return known if known.get("state") in DONE else None


def outside(
    host: Host, entries: Iterable[Entry], journal: Journal, *, secrets: bool, write: bool
) -> Iterator[Row]:
    """Take, or look at, servers, profiles and keys; no runtime is open."""
    before, work = Before(journal), Outside(host, secrets=secrets)
    for entry in entries:
        item = entry.item
        outcome = before.settled(entry)
        if outcome is None:
            again = before.begun(item)
            try:
                outcome = Outcome("planned") if again else work.look(item)
                if write and outcome.state == "planned":
                    journal.begin(item)
                    point("migrate-begun")
                    outcome = work.take(item, again=again)
                    point("migrate-taken")
            except (HooklineError, OSError, ValueError) as error:
                outcome = Outcome("error", outcome.target if outcome else "", _told(error))
            if write:
                journal.end(item, outcome, entry.version)
        yield row_of(item, outcome)


class Inside:
    """Moves everything else, in an open runtime; without a ``source``, only out again."""

    def __init__(self, host: Host, name: str, source: Source | None, journal: Journal) -> None:
        self._host = host
        self._name = name
        self._journal = journal
        self._before = Before(journal)
        found: list[Importer] = [*host.services.all(Importer), DocumentImporter(host)]
        found.append(ConversationImporter(host, source))
        self._importers = {kind: one for one in found for kind in one.kinds}

    async def rows(self, entries: Iterable[Entry], *, write: bool) -> AsyncIterator[Row]:
        """Take, or look at, every entry; afterwards conversations can be searched."""
        moved = False
        for entry in entries:
            outcome = self._before.settled(entry)
            if outcome is None:
                outcome = await self._tried(entry, write=write)
                moved |= write and entry.item.kind == "session"
            yield row_of(entry.item, outcome)
        if moved:
            for index in self._host.services.all(SearchIndex):
                await index.catch_up()

    async def _tried(self, entry: Entry, *, write: bool) -> Outcome:
        item = entry.item
        importer = self._importers.get(item.kind)
        if importer is None:
            plugin = PLUGINS.get(item.kind, item.kind)
            told = f"the plugin {plugin} is off; hookline plugins enable {plugin}"
            return Outcome("blocked", "", told)
        try:
            if not write:
                return await self._looked(entry, importer)
            outcome = await self._taken(entry, importer)
        except (HooklineError, OSError, ValueError, KeyError, TypeError) as error:
            outcome = Outcome("error", "", _told(error))
        if write:
            self._journal.end(item, outcome, entry.version)
            point("migrate-noted")
        return outcome

    async def _looked(self, entry: Entry, importer: Importer) -> Outcome:
        if self._before.grown(entry) is not None:
            return Outcome("planned", "", "it has gone on there since it was moved")
        return await importer.look(entry.item)

    async def _taken(self, entry: Entry, importer: Importer) -> Outcome:
        item, again = entry.item, self._before.begun(entry.item)
        if (known := self._before.grown(entry)) is not None:
            back = await importer.give_back(item.kind, known["receipt"])
            if back.state != "planned":
                told = f"{back.reason}; what was said there afterwards is not moved"
                return Outcome(known["state"], known["target"], told, known["receipt"])
        own = item.kind in OWN_IDS
        if not own and not again:
            looked = await importer.look(item)
            if looked.state != "planned":
                return self._kept(item, looked)
            self._journal.begin(item)
            point("migrate-begun")
        outcome = await importer.take(item, again=again or own)
        point("migrate-taken")
        return self._kept(item, outcome)

    def _kept(self, item: Item, outcome: Outcome) -> Outcome:
        """What does not fit, or is in another's way, is kept as a file."""
        if not outcome.text or outcome.state not in ("archived", "conflict"):
            return outcome
        receipt = archived(self._host.home, self._name, item, outcome.text)
        told = f"{outcome.reason}; it is in {receipt['archive']}"
        return Outcome(outcome.state, outcome.target, told, receipt)

    async def undone(self, rows: Sequence[Row]) -> AsyncIterator[Row]:
        """Give back what lines of the journal say was taken, the newest first."""
        for row in reversed(rows):
            try:
                outcome = await self._back(row)
            except (HooklineError, OSError, ValueError, KeyError, TypeError) as error:
                outcome = Outcome("error", row.get("target", ""), _told(error))
            if outcome.state == "planned":
                self._journal.forget(row["id"])
            yield _undone(row, outcome)

    async def _back(self, row: Row) -> Outcome:
        receipt = row.get("receipt") or {}
        if "archive" in receipt:
            return remove_unchanged(self._host.home, receipt["archive"], receipt["sha256"])
        importer = self._importers.get(row["kind"])
        if importer is None:
            plugin = PLUGINS.get(row["kind"], row["kind"])
            told = f"the plugin {plugin} is off; hookline plugins enable {plugin}"
            return Outcome("blocked", row["target"], told)
        return await importer.give_back(row["kind"], receipt)


def outside_back(host: Host, rows: Sequence[Row], journal: Journal) -> Iterator[Row]:
    """Give back servers, profiles and keys; no runtime is open."""
    work = Outside(host, secrets=False)
    for row in reversed(rows):
        try:
            outcome = work.give_back(row["kind"], row["receipt"])
        except (HooklineError, OSError, ValueError, KeyError) as error:
            outcome = Outcome("error", row.get("target", ""), _told(error))
        if outcome.state == "planned":
            journal.forget(row["id"])
        yield _undone(row, outcome)


def _undone(row: Row, outcome: Outcome) -> Row:
    item = Item(row["id"], row["kind"], row["source"], {})
    return row_of(item, outcome)


def taken(journal: Journal) -> list[Row]:
    """The lines of the journal that can be given back, oldest first."""
    rows = [row for row in journal.rows.values() if row.get("receipt")]
    return [row for row in rows if row["state"] in DONE or "archive" in row["receipt"]]


def unfinished(journal: Journal) -> Iterator[Row]:
    """What was being taken when a process was killed: nobody knows what is there of it."""
    told = "an apply was killed as it took this; run apply again, and undo then"
    for row in journal.rows.values():
        if row.get("state") == "begun":
            yield _undone(row, Outcome("error", "", told))


def _told(error: BaseException) -> str:
    text = str(error) if isinstance(error, HooklineError) else f"{type(error).__name__}: {error}"
    return " ".join(text.split())[:300]


def home_is_new(home: Path) -> bool:
    """True if there is nothing in a home that a backup could keep."""
    return not any((home / name).exists() for name in ("hookline.db", "config.yaml", "memories"))
