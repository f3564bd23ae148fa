"""Makes, logs and reverts the changes that the tool and the commands request.

New content passes ``pre_learn`` once, before anything is locked. Notes are written to their files
first, then facts and the log in one transaction. If that fails, the files are restored.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from hookline_hookspecs import Host, Refused, Transaction

from .change_log import DAY, ChangeSource, add_entry, find_entry, undone_by
from .config import MemoryConfig
from .errors import InvalidOperation
from .fact import Fact
from .facts import FactStore, FactWriter
from .note_changes import WrittenNotes, change_notes, restore_files, undo_notes
from .note_file import NoteFile
from .note_paths import NotePaths
from .notes import Notes, entry_of
from .operations import NOTE_ACTIONS, Operation
from .origins import save_note_origins
from .text import format_usage, one_line, storable

Result = TypeVar("Result")
REVIEW_CONFIDENCE = 0.75
"""The confidence of a fact that a review saved without being asked."""
DEFAULT_CONFIDENCE = 0.9
"""The confidence of any other fact."""


@dataclass(frozen=True, slots=True)
class AppliedChanges:
    """Changes that were made: a text about them for the model, and their entries in the log.

    ``contradicted`` are the facts that the new ones contradict, as they were before.
    """

    text: str
    changes: list[Mapping[str, Any]]
    contradicted: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class _Committed:
    """Stored changes: a sentence for each operation, and the notes after them."""

    sentences: list[str]
    changes: list[Mapping[str, Any]]
    notes: Notes | None
    contradicted: tuple[Fact, ...]


class ChangeAuthor(Protocol):
    """Who requests a change: a turn's context, or a person at a page."""

    @property
    def operator(self) -> bool:
        """True if the global notes may be changed from chats other than the terminal."""

    def learn(self, text: str, source: str, kind: str) -> Awaitable[str]:
        """Return the text as ``pre_learn`` returns it. Raises ``Refused``."""


class MemoryChanges:
    """Changes notes and facts, and reverts changes."""

    def __init__(
        self, host: Host, config: MemoryConfig, note_paths: NotePaths, facts: FactStore
    ) -> None:
        self._host = host
        self._config = config
        self._note_paths = note_paths
        self._facts = facts

    async def apply(
        self, ctx: ChangeAuthor, source: ChangeSource, operations: Sequence[Operation]
    ) -> AppliedChanges:
        """Do all ``operations`` or none.

        Raises:
            InvalidOperation: one cannot be done; nothing was changed.
        """
        learned = [await self._learn(ctx, source, operation) for operation in operations]
        done = await _uncancelled(self._commit(source, ctx.operator, learned))
        sentences = [
            self._sentence(given, new, result)
            for given, new, result in zip(operations, learned, done.sentences, strict=True)
        ]
        if done.notes is not None:
            usage = format_usage(done.notes.chars, self._config.notes_max_chars)
            sentences.append(f"Notes: {usage}.")
        return AppliedChanges(" ".join(sentences), done.changes, done.contradicted)

    async def _commit(
        self, source: ChangeSource, operator: bool, operations: Sequence[Operation]
    ) -> _Committed:
        """Make the changes."""
        notes = [operation for operation in operations if operation.action in NOTE_ACTIONS]
        files = self._note_paths.writable(source.chat, operator)
        written = await self._write_notes(files, notes) if notes else None

        def work(db: Transaction) -> _Committed:
            writer = FactWriter(db, source.chat, self._host.now())
            note_sentences = iter(written.sentences if written else ())
            sentences = [
                next(note_sentences)
                if operation.action in NOTE_ACTIONS
                else self._change_fact(writer, source, operation)
                for operation in operations
            ]
            changes = [*(written.changes if written else ()), *writer.changes]
            save_note_origins(db, written.changes if written else (), source.origins)
            add_entry(db, source, changes, self._host.now())
            after = written.first if written else None
            return _Committed(sentences, changes, after, tuple(writer.contradicted))

        done: _Committed = await self._transact(work, written)
        await self._facts.notify_semantic_index(done.changes)
        return done

    async def undo(self, number: int, source: ChangeSource) -> int:
        """Revert the log's row ``number``; return the number of the new row.

        Raises:
            InvalidOperation: there is no such row, it was already reverted, or its entries changed.
        """
        entry = await self._host.storage.transact(lambda db: find_entry(db, number))
        if entry is None:
            raise InvalidOperation(f"no entry {number}; `hookline memory log` lists the numbers")
        later = await self._host.storage.transact(lambda db: undone_by(db, number))
        if later is not None:
            raise InvalidOperation(f"entry {number} was already undone by {later}")
        notes = [change for change in entry.changes if change["kind"] == "note"]
        facts = [change for change in entry.changes if change["kind"] == "fact"]
        files = [self._note_paths.file_named(name) for name in {change["file"] for change in notes}]
        written = None
        if notes:
            limit = self._config.notes_max_chars
            written = await asyncio.to_thread(undo_notes, files, notes, limit, self._locks)

        fact_changes: list[Mapping[str, Any]] = []

        def work(db: Transaction) -> int:
            if undone_by(db, number) is not None:
                raise InvalidOperation(f"entry {number} was already undone")
            writer = FactWriter(db, entry.chat, self._host.now())
            for change in reversed(facts):
                writer.revert(_fact(change["before"]), _fact(change["after"]))
            changes = [*(written.changes if written else ()), *writer.changes]
            fact_changes[:] = writer.changes
            undo = replace(source, chat=entry.chat, how="undo")
            return add_entry(db, undo, changes, self._host.now(), undoes=number)

        new_number: int = await self._transact(work, written)
        await self._facts.notify_semantic_index(fact_changes)
        return new_number

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

        await self._facts.notify_semantic_index(await self._transact(work, None))

    async def _learn(
        self, ctx: ChangeAuthor, source: ChangeSource, operation: Operation
    ) -> Operation:
        """Return ``operation`` with its content as ``pre_learn`` returns it."""
        if not operation.content:
            return operation
        is_note = operation.action in NOTE_ACTIONS
        normalize: Callable[[str], str] = entry_of if is_note else self._fact_text
        text = normalize(operation.content)
        kind = "note" if is_note else "fact"
        try:
            passed = await ctx.learn(text, f"memory, session {source.session_id}", kind)
        except Refused as error:
            raise InvalidOperation(f"this may not be remembered: {error}") from None
        return replace(operation, content=text if passed == text else normalize(storable(passed)))

    def _fact_text(self, text: str) -> str:
        flat = " ".join(text.split())
        if not flat:
            raise InvalidOperation("content is empty; say what to remember")
        if len(flat) > self._config.fact_max_chars:
            raise InvalidOperation(
                f"a fact has at most {self._config.fact_max_chars} characters, this one has "
                f"{len(flat)}; shorten it, or split it into several facts"
            )
        return flat

    async def _write_notes(
        self, files: Sequence[NoteFile], operations: Sequence[Operation]
    ) -> WrittenNotes:
        limit = self._config.notes_max_chars
        return await asyncio.to_thread(change_notes, files, operations, limit, self._locks)

    def _change_fact(self, writer: FactWriter, source: ChangeSource, operation: Operation) -> str:
        if operation.action == "forget":
            return writer.forget(operation.old_text)
        now = self._host.now()
        fact = Fact(
            0,
            source.chat.channel,
            source.chat.chat_id,
            operation.content,
            operation.category,
            REVIEW_CONFIDENCE if source.how == "review" else DEFAULT_CONFIDENCE,
            source.session_id,
            source.turn_id,
            now,
            None if operation.ttl is None else now + operation.ttl,
            source.origins,
        )
        return writer.remember(fact, self._config.facts_max)

    async def _transact(
        self, work: Callable[[Transaction], Any], written: WrittenNotes | None
    ) -> Any:
        """Run ``work``; if it fails, restore the files of notes."""
        self._facts.invalidate_cache()
        try:
            return await self._host.storage.transact(work)
        except BaseException:
            if written is not None:
                await asyncio.to_thread(restore_files, written.files)
            raise
        finally:
            self._facts.invalidate_cache()

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


async def _uncancelled(work: Coroutine[Any, Any, Result]) -> Result:
    """Finish ``work`` even if cancelled, so that a stopped turn leaves nothing half done."""
    task = asyncio.ensure_future(work)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    return await asyncio.shield(task)
