"""Makes, logs and reverts the changes that the tool and the commands request.

New content passes the gate ``pre_learn`` once, before anything is locked. Notes are written first,
in files; then facts and the log, in one transaction. If that fails the files are put back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from hookline_hookspecs import Host, Refused, Transaction

from .config import MemoryConfig
from .fact import Fact
from .facts import Facts, Writer
from .log import DAY, Source, add_entry, find_entry, undone_by
from .notechanges import Written, change_notes, take_back, undo_notes
from .notefile import NoteFile
from .notes import Notes, entry_of
from .operations import NOTE_ACTIONS, Operation
from .origins import keep_notes
from .places import Places
from .wording import Complaint, one_line, storable, used

T = TypeVar("T")
CONFIDENCE = {"review": 0.75}
"""The confidence of a fact by how it was learnt: nobody asked for what a review gathers."""
SURE = 0.9
"""The confidence of any other fact."""


class Learner(Protocol):
    """Who asks for a change: a turn's context, or a person at a page."""

    @property
    def operator(self) -> bool:
        """Whether the global notes may be changed from another chat than the terminal."""

    def learn(self, text: str, source: str, kind: str) -> Awaitable[str]:
        """Return the text as the gate ``pre_learn`` passed it. Raises ``Refused``."""


class Changes:
    """Changes notes and facts, and reverts changes."""

    def __init__(self, host: Host, config: MemoryConfig, places: Places, facts: Facts) -> None:
        self._host = host
        self._config = config
        self._places = places
        self._facts = facts

    async def make(
        self, ctx: Learner, source: Source, operations: Sequence[Operation]
    ) -> tuple[str, list[Mapping[str, Any]]]:
        """Do all ``operations`` or none; return sentences about them, and the changes.

        Raises:
            Complaint: one cannot be done; nothing was changed.
        """
        learnt = [await self._learn(ctx, source, operation) for operation in operations]
        told, changes, notes = await _whole(self._commit(source, ctx.operator, learnt))
        sentences = [
            self._sentence(given, new, sentence)
            for given, new, sentence in zip(operations, learnt, told, strict=True)
        ]
        if notes is not None:
            sentences.append(f"Notes: {used(notes.chars, self._config.notes_max_chars)}.")
        return " ".join(sentences), changes

    async def _commit(
        self, source: Source, operator: bool, operations: Sequence[Operation]
    ) -> tuple[list[str], list[Mapping[str, Any]], Notes | None]:
        """Make the changes; return a sentence for each operation, the changes, and the notes after
        them."""
        notes = [one for one in operations if one.action in NOTE_ACTIONS]
        files = self._places.writable(source.chat, operator)
        written = await self._write_notes(files, notes) if notes else None

        def work(db: Transaction) -> tuple[list[str], list[Mapping[str, Any]]]:
            writer = Writer(db, source.chat, self._host.now())
            said = iter(written.sentences if written else ())
            sentences = [
                next(said) if one.action in NOTE_ACTIONS else self._do(writer, source, one)
                for one in operations
            ]
            changes = [*(written.changes if written else ()), *writer.changes]
            keep_notes(db, written.changes if written else (), source.origins)
            add_entry(db, source, changes, self._host.now())
            return sentences, changes

        sentences, changes = await self._transact(work, written)
        await self._facts.tell(changes)
        return sentences, changes, written.first if written else None

    async def undo(self, number: int, source: Source) -> int:
        """Revert the log's row ``number``; return the number of the new row.

        Raises:
            Complaint: there is no such row, it was reverted already, or its entries have changed.
        """
        entry = await self._host.storage.transact(lambda db: find_entry(db, number))
        if entry is None:
            raise Complaint(f"there is no entry {number}; `hookline memory log` lists them")
        later = await self._host.storage.transact(lambda db: undone_by(db, number))
        if later is not None:
            raise Complaint(f"entry {number} was undone by {later} already")
        notes = [change for change in entry.changes if change["kind"] == "note"]
        facts = [change for change in entry.changes if change["kind"] == "fact"]
        files = [self._places.named(name) for name in {change["file"] for change in notes}]
        written = None
        if notes:
            limit = self._config.notes_max_chars
            written = await asyncio.to_thread(undo_notes, files, notes, limit, self._locks)

        made_changes: list[Mapping[str, Any]] = []

        def work(db: Transaction) -> int:
            if undone_by(db, number) is not None:
                raise Complaint(f"entry {number} was undone already")
            writer = Writer(db, entry.chat, self._host.now())
            for change in reversed(facts):
                writer.put_back(_fact(change["before"]), _fact(change["after"]))
            changes = [*(written.changes if written else ()), *writer.changes]
            made_changes[:] = writer.changes
            to = replace(source, chat=entry.chat, how="undo")
            return add_entry(db, to, changes, self._host.now(), undoes=number)

        made: int = await self._transact(work, written)
        await self._facts.tell(made_changes)
        return made

    async def expire(self, log_days: float) -> None:
        """Delete expired facts, and log rows older than ``log_days``."""
        now = self._host.now()

        def work(db: Transaction) -> list[Mapping[str, Any]]:
            expired = db.fetch("expired", now=now)
            for row in expired:
                db.execute("delete_fact", id=row["id"])
                db.execute("unindex_fact", id=row["id"])
            db.execute("prune_log", before=now - log_days * DAY)
            return [{"kind": "fact", "before": dict(row)} for row in expired]

        await self._facts.tell(await self._transact(work, None))

    async def _learn(self, ctx: Learner, source: Source, operation: Operation) -> Operation:
        """Return ``operation`` with its content as ``pre_learn`` allows it."""
        if not operation.content:
            return operation
        note = operation.action in NOTE_ACTIONS
        tidy: Callable[[str], str] = entry_of if note else self._fact_text
        text = tidy(operation.content)
        kind = "note" if note else "fact"
        try:
            passed = await ctx.learn(text, f"memory, session {source.session_id}", kind)
        except Refused as error:
            raise Complaint(f"this may not be remembered: {error}") from None
        return replace(operation, content=text if passed == text else tidy(storable(passed)))

    def _fact_text(self, text: str) -> str:
        flat = " ".join(text.split())
        if not flat:
            raise Complaint("content is empty; say what is to be remembered")
        if len(flat) > self._config.fact_max_chars:
            raise Complaint(
                f"a fact has at most {self._config.fact_max_chars} characters, this one has "
                f"{len(flat)}; say it in fewer words, or as several facts"
            )
        return flat

    async def _write_notes(
        self, files: Sequence[NoteFile], operations: Sequence[Operation]
    ) -> Written:
        limit = self._config.notes_max_chars
        return await asyncio.to_thread(change_notes, files, operations, limit, self._locks)

    def _do(self, writer: Writer, source: Source, operation: Operation) -> str:
        if operation.action == "forget":
            return writer.forget(operation.old_text)
        now = self._host.now()
        fact = Fact(
            0,
            source.chat.channel,
            source.chat.chat_id,
            operation.content,
            operation.category,
            CONFIDENCE.get(source.how, SURE),
            source.session_id,
            source.turn_id,
            now,
            None if operation.ttl is None else now + operation.ttl,
            source.origins,
        )
        return writer.remember(fact, self._config.facts_max)

    async def _transact(self, work: Callable[[Transaction], Any], written: Written | None) -> Any:
        """Run ``work``; if it fails, restore the notes."""
        self._facts.forget_read()
        try:
            return await self._host.storage.transact(work)
        except BaseException:
            if written is not None:
                await asyncio.to_thread(take_back, written.files)
            raise
        finally:
            self._facts.forget_read()

    @staticmethod
    def _sentence(given: Operation, new: Operation, sentence: str) -> str:
        """Return the sentence, with the stored text if it differs from what was given."""
        if " ".join(given.content.split()) == " ".join(new.content.split()):
            return sentence
        return f"{sentence} Stored as: {one_line(new.content, 500)}"

    @property
    def _locks(self) -> Path:
        return self._host.storage.dir / "locks"


def _fact(row: Mapping[str, Any] | None) -> Fact | None:
    return None if row is None else Fact.from_json(row)


async def _whole(work: Coroutine[Any, Any, T]) -> T:
    """Await ``work`` despite cancellation, so that a stopped turn leaves nothing half done."""
    task = asyncio.ensure_future(work)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    return await asyncio.shield(task)
