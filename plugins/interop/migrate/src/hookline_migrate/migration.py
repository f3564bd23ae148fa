"""Passes each item to the importer of its kind, and records the outcome."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from hookline_hookspecs import HooklineError, Host
from hookline_hookspecs.crash import point
from hookline_hookspecs.importers import Importer, Item, Outcome, SearchIndex

from .command_importer import COMMAND_KINDS, CommandImporter
from .conversations import ConversationImporter
from .documents import DocumentImporter, archive_item, remove_unchanged
from .journal import MigrationJournal
from .sources import MigrationSource
from .sources.base import SourceEntry

Row: TypeAlias = dict[str, Any]
DONE = ("migrated", "archived")
STABLE_IDS = frozenset({"session", "job"})
"""Kinds stored under ids derived from the items' ids, so that an interrupted import is found."""
OWNERS = {
    "note": "memory",
    "fact": "memory",
    "user": "user-model",
    "job": "scheduler",
    "person": "access",
    "skill": "skills",
}
KINDS = (*OWNERS, "document", "session", *sorted(COMMAND_KINDS), "login", "other")


def report_row(item: Item, outcome: Outcome) -> Row:
    """Return the row of an item for the report and ``--json``."""
    return {
        "id": item.id,
        "kind": item.kind,
        "source": item.source,
        "target": outcome.target,
        "state": outcome.state,
        "reason": outcome.reason,
    }


class PriorOutcomes:
    """What reading and the journal say about an item before it is imported."""

    def __init__(self, journal: MigrationJournal) -> None:
        self._journal = journal

    def known_outcome(self, entry: SourceEntry) -> Outcome | None:
        """Return the outcome of reading or of an earlier import; None if there is work to do."""
        if entry.outcome is not None:
            return entry.outcome
        known = self._journal.rows.get(entry.item.id, {})
        if known.get("state") in DONE and known.get("version", "") == entry.version:
            return Outcome(known["state"], known["target"], known["reason"])
        return None

    def was_interrupted(self, item: Item) -> bool:
        """True if an earlier import of the item was killed."""
        return bool(self._journal.rows.get(item.id, {}).get("state") == "begun")

    def changed_since_import(self, entry: SourceEntry) -> Row | None:
        """Return the journal's row of an imported item that has changed at its source since."""
        known = self._journal.rows.get(entry.item.id, {})
        return known if known.get("state") in DONE else None


def import_command_items(
    host: Host,
    entries: Iterable[SourceEntry],
    journal: MigrationJournal,
    *,
    secrets: bool,
    write: bool,
) -> Iterator[Row]:
    """Import servers, profiles and keys, or only preview them; no runtime may be open."""
    prior = PriorOutcomes(journal)
    work = CommandImporter(host, secrets=secrets)
    for entry in entries:
        item = entry.item
        outcome = prior.known_outcome(entry)
        if outcome is None:
            again = prior.was_interrupted(item)
            try:
                outcome = Outcome("planned") if again else work.look(item)
                if write and outcome.state == "planned":
                    journal.begin(item)
                    point("migrate-begun")
                    outcome = work.take(item, again=again)
                    point("migrate-taken")
            except (HooklineError, OSError, ValueError) as error:
                outcome = Outcome("error", outcome.target if outcome else "", _error_text(error))
            if write:
                journal.end(item, outcome, entry.version)
        yield report_row(item, outcome)


class ImportRun:
    """Imports all other kinds in an open runtime; without a ``source`` it can only undo."""

    def __init__(
        self, host: Host, name: str, source: MigrationSource | None, journal: MigrationJournal
    ) -> None:
        self._host = host
        self._name = name
        self._journal = journal
        self._prior = PriorOutcomes(journal)
        found: list[Importer] = [*host.services.all(Importer), DocumentImporter(host)]
        found.append(ConversationImporter(host, source))
        self._importers = {kind: one for one in found for kind in one.kinds}

    async def rows(self, entries: Iterable[SourceEntry], *, write: bool) -> AsyncIterator[Row]:
        """Import every entry, or only preview it; then index new conversations for search."""
        has_new_sessions = False
        for entry in entries:
            outcome = self._prior.known_outcome(entry)
            if outcome is None:
                outcome = await self._try_entry(entry, write=write)
                has_new_sessions |= write and entry.item.kind == "session"
            yield report_row(entry.item, outcome)
        if has_new_sessions:
            for index in self._host.services.all(SearchIndex):
                await index.catch_up()

    async def _try_entry(self, entry: SourceEntry, *, write: bool) -> Outcome:
        item = entry.item
        importer = self._importers.get(item.kind)
        if importer is None:
            plugin = OWNERS.get(item.kind, item.kind)
            reason = f"plugin {plugin} is off. Run hookline plugins enable {plugin}"
            return Outcome("blocked", "", reason)
        try:
            if not write:
                return await self._preview(entry, importer)
            outcome = await self._taken(entry, importer)
        except (HooklineError, OSError, ValueError, KeyError, TypeError) as error:
            outcome = Outcome("error", "", _error_text(error))
        if write:
            self._journal.end(item, outcome, entry.version)
            point("migrate-noted")
        return outcome

    async def _preview(self, entry: SourceEntry, importer: Importer) -> Outcome:
        if self._prior.changed_since_import(entry) is not None:
            return Outcome("planned", "", "it was continued there since it was imported")
        return await importer.look(entry.item)

    async def _taken(self, entry: SourceEntry, importer: Importer) -> Outcome:
        item = entry.item
        again = self._prior.was_interrupted(entry.item)
        if (known := self._prior.changed_since_import(entry)) is not None:
            back = await importer.give_back(item.kind, known["receipt"])
            if back.state != "planned":
                reason = f"{back.reason}; later messages from there are not imported"
                return Outcome(known["state"], known["target"], reason, known["receipt"])
        own = item.kind in STABLE_IDS
        if not own and not again:
            looked = await importer.look(item)
            if looked.state != "planned":
                return self._archive_leftover(item, looked)
            self._journal.begin(item)
            point("migrate-begun")
        outcome = await importer.take(item, again=again or own)
        point("migrate-taken")
        return self._archive_leftover(item, outcome)

    def _archive_leftover(self, item: Item, outcome: Outcome) -> Outcome:
        """Store a text that is too long or conflicts in ``imports/``."""
        if not outcome.text or outcome.state not in ("archived", "conflict"):
            return outcome
        receipt = archive_item(self._host.home, self._name, item, outcome.text)
        reason = f"{outcome.reason}; stored as {receipt['archive']}"
        return Outcome(outcome.state, outcome.target, reason, receipt)

    async def undo_rows(self, rows: Sequence[Row]) -> AsyncIterator[Row]:
        """Undo the imports of journal rows, newest first."""
        for row in reversed(rows):
            try:
                outcome = await self._undo_row(row)
            except (HooklineError, OSError, ValueError, KeyError, TypeError) as error:
                outcome = Outcome("error", row.get("target", ""), _error_text(error))
            if outcome.state == "planned":
                self._journal.forget(row["id"])
            yield _undo_report_row(row, outcome)

    async def _undo_row(self, row: Row) -> Outcome:
        receipt = row.get("receipt") or {}
        if "archive" in receipt:
            return remove_unchanged(self._host.home, receipt["archive"], receipt["sha256"])
        importer = self._importers.get(row["kind"])
        if importer is None:
            plugin = OWNERS.get(row["kind"], row["kind"])
            reason = f"plugin {plugin} is off. Run hookline plugins enable {plugin}"
            return Outcome("blocked", row["target"], reason)
        return await importer.give_back(row["kind"], receipt)


def undo_command_items(host: Host, rows: Sequence[Row], journal: MigrationJournal) -> Iterator[Row]:
    """Undo imports of servers, profiles and keys; no runtime may be open."""
    work = CommandImporter(host, secrets=False)
    for row in reversed(rows):
        try:
            outcome = work.give_back(row["kind"], row["receipt"])
        except (HooklineError, OSError, ValueError, KeyError) as error:
            outcome = Outcome("error", row.get("target", ""), _error_text(error))
        if outcome.state == "planned":
            journal.forget(row["id"])
        yield _undo_report_row(row, outcome)


def _undo_report_row(row: Row, outcome: Outcome) -> Row:
    item = Item(row["id"], row["kind"], row["source"], {})
    return report_row(item, outcome)


def undoable_rows(journal: MigrationJournal) -> list[Row]:
    """Return the journal's rows that can be undone, oldest first."""
    rows = [row for row in journal.rows.values() if row.get("receipt")]
    return [row for row in rows if row["state"] in DONE or "archive" in row["receipt"]]


def interrupted_rows(journal: MigrationJournal) -> Iterator[Row]:
    """Yield report rows of imports that were killed; it is unknown how far they came."""
    reason = "its import was interrupted. Run apply again, then undo"
    for row in journal.rows.values():
        if row.get("state") == "begun":
            yield _undo_report_row(row, Outcome("error", "", reason))


def _error_text(error: BaseException) -> str:
    text = str(error) if isinstance(error, HooklineError) else f"{type(error).__name__}: {error}"
    return " ".join(text.split())[:300]


def home_is_new(home: Path) -> bool:
    """True if a home has nothing to back up."""
    return not any((home / name).exists() for name in ("hookline.db", "config.yaml", "memories"))
