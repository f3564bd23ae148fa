"""Imports notes and facts of another program (service ``Importer``)."""

from __future__ import annotations

import asyncio
from typing import Any

from hookline_hookspecs import Host, Origin, Refused, Transaction
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.chat_files import Chat
from hookline_hookspecs.importers import Item, Outcome, Receipt, State

from .change_log import ChangeSource, add_entry
from .changes import DEFAULT_CONFIDENCE, MemoryChanges
from .config import MemoryConfig
from .errors import InvalidOperation, NotesFull
from .fact import Fact
from .facts import CATEGORIES, FactStore, FactWriter
from .note_paths import NotePaths
from .notes import chars_of, entry_of
from .operations import Operation
from .text import one_line, storable

KINDS = frozenset({"note", "fact"})
CHANGE_KIND = "import"
ALREADY_KNOWN = "already known"


class _OperatorAuthor:
    """The author of imported changes: the operator, in the chat itself."""

    operator = False

    def __init__(self, host: Host) -> None:
        self._host = host

    async def learn(self, text: str, source: str, kind: str) -> str:
        return await self._host.learn(text, source, kind, origins=())


class MemoryImporter:
    """Imports single notes and facts; what exceeds a limit is returned with its text."""

    kinds = KINDS

    def __init__(
        self,
        host: Host,
        config: MemoryConfig,
        note_paths: NotePaths,
        facts: FactStore,
        changes: MemoryChanges,
    ) -> None:
        self._host = host
        self._config = config
        self._note_paths = note_paths
        self._facts = facts
        self._changes = changes

    async def look(self, item: Item) -> Outcome:
        """Return what :meth:`take` would do."""
        return await self._import(item, again=False, write=False)

    async def take(self, item: Item, *, again: bool = False) -> Outcome:
        """Remember the item."""
        return await self._import(item, again=again, write=True)

    async def _import(self, item: Item, *, again: bool, write: bool) -> Outcome:
        chat = _chat(item)
        target = self._target(item.kind, chat)
        origins = (Origin("outside", item.source),)
        try:
            text = await self._learn(item)
        except (Refused, InvalidOperation) as refusal:
            return Outcome("blocked", target, str(refusal))
        work = self._note if item.kind == "note" else self._fact
        return await work(item, chat, text, origins, target, again=again, write=write)

    async def _learn(self, item: Item) -> str:
        given = storable(str(item.data["text"]))
        text = entry_of(given) if item.kind == "note" else " ".join(given.split())
        passed = await self._host.learn(text, item.source, item.kind, origins=())
        return text if passed == text else storable(passed).strip()

    async def _note(
        self,
        item: Item,
        chat: Chat,
        text: str,
        origins: tuple[Origin, ...],
        target: str,
        *,
        again: bool,
        write: bool,
    ) -> Outcome:
        receipt = {"chat": chat.label, "text": text}
        entries = await self._entries(chat)
        if text in entries:
            state: State = "migrated" if again else "skipped"
            return Outcome(state, target, "" if again else ALREADY_KNOWN, receipt)
        limit = self._config.notes_max_chars
        if chars_of([*entries, text]) > limit:
            return self._too_large(target, f"the limit of notes is {limit:,} characters", text)
        if not write:
            return Outcome("planned", target)
        source = ChangeSource(chat, "", "", CHANGE_KIND, origins)
        # It passed ``pre_learn`` above, and does so again with the change.
        person = _OperatorAuthor(self._host)
        try:
            await self._changes.apply(person, source, [Operation("add", text)])
        except NotesFull:
            return self._too_large(target, f"the limit of notes is {limit:,} characters", text)
        except InvalidOperation as error:
            return Outcome("error", target, str(error))
        return Outcome("migrated", target, receipt=receipt)

    async def _fact(
        self,
        item: Item,
        chat: Chat,
        text: str,
        origins: tuple[Origin, ...],
        target: str,
        *,
        again: bool,
        write: bool,
    ) -> Outcome:
        receipt = {"chat": chat.label, "text": text}
        if not text:
            return Outcome("skipped", target, "empty")
        known = await self._facts.of_chat(chat)
        if any(fact.content == text for fact in known):
            state: State = "migrated" if again else "skipped"
            return Outcome(state, target, "" if again else ALREADY_KNOWN, receipt)
        if len(text) > self._config.fact_max_chars:
            limit = self._config.fact_max_chars
            return self._too_large(target, f"the limit of a fact is {limit:,} characters", text)
        if len(known) >= self._config.facts_max:
            return self._too_large(
                target, f"the limit of a chat is {self._config.facts_max:,} facts", text
            )
        if not write:
            return Outcome("planned", target)
        category = item.data.get("category")
        created = item.data.get("created")
        now = self._host.now()
        fact = Fact(
            0,
            chat.channel,
            chat.chat_id,
            text,
            category if category in CATEGORIES else "knowledge",
            DEFAULT_CONFIDENCE,
            "",
            "",
            min(float(created), now) if isinstance(created, int | float) else now,
            None,
            origins,
        )
        if not await self._remember(ChangeSource(chat, "", "", CHANGE_KIND, origins), fact):
            return Outcome("skipped", target, "another fact says the same", {})
        return Outcome("migrated", target, receipt=receipt)

    async def _remember(self, source: ChangeSource, fact: Fact) -> bool:
        def work(db: Transaction) -> bool:
            writer = FactWriter(db, source.chat, self._host.now())
            if writer.has_duplicate(fact.content):
                return False
            writer.remember(fact, self._config.facts_max, compare=False)
            add_entry(db, source, writer.changes, self._host.now())
            return True

        self._facts.invalidate_cache()
        try:
            return await self._host.storage.transact(work)
        finally:
            self._facts.invalidate_cache()

    async def give_back(self, kind: str, receipt: Receipt) -> Outcome:
        """Forget the imported item, unless its text was changed since."""
        chat = Chat.named(receipt["chat"])
        assert chat is not None
        text, target = receipt["text"], self._target(kind, chat)
        if kind == "note":
            present = text in await self._entries(chat)
            operation = Operation("remove", old_text=text)
        else:
            ids = [fact.id for fact in await self._facts.of_chat(chat) if fact.content == text]
            present = bool(ids)
            operation = Operation("forget", old_text=f"#{ids[0]}" if ids else "")
        if not present:
            detail = f"`{one_line(text, 40)}` was changed or removed since"
            return Outcome("migrated", target, detail)
        source = ChangeSource(chat, "", "", CHANGE_KIND)
        await self._changes.apply(_OperatorAuthor(self._host), source, [operation])
        return Outcome("planned", target)

    async def _entries(self, chat: Chat) -> tuple[str, ...]:
        file = self._note_paths.writable(chat, operator=False)[0]
        return (await asyncio.to_thread(file.read)).notes.entries

    def _target(self, kind: str, chat: Chat) -> str:
        if kind == "note":
            return self._note_paths.writable(chat, operator=False)[0].name
        return f"facts of {chat.label}"

    @staticmethod
    def _too_large(target: str, why: str, text: str) -> Outcome:
        return Outcome("archived", target, why, text=text)


def _chat(item: Item) -> Chat:
    label: Any = item.data.get("chat") or f"{TERMINAL}:default"
    found = Chat.named(str(label))
    if found is None:
        raise InvalidOperation(f"{label!r} is not a chat; write CHANNEL:ID")
    return found
