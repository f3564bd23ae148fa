"""Imports notes and facts of another program (service ``Importer``)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Any

from hookline_hookspecs import Host, Origin, Refused, Transaction
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.chat_files import Chat
from hookline_hookspecs.importers import Item, Outcome, Receipt

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


@dataclass(frozen=True, slots=True)
class _Import:
    """An item with the text to remember; ``again``: it was imported before; ``write``: do so."""

    item: Item
    chat: Chat
    target: str
    text: str
    again: bool
    write: bool

    @property
    def source(self) -> ChangeSource:
        origins = (Origin("outside", self.item.source),)
        return ChangeSource(self.chat, "", "", CHANGE_KIND, origins)

    def migrated(self) -> Outcome:
        receipt = {"chat": self.chat.label, "text": self.text}
        return Outcome("migrated", self.target, receipt=receipt)

    def already_known(self) -> Outcome:
        found = self.migrated()
        return found if self.again else replace(found, state="skipped", reason=ALREADY_KNOWN)

    def too_large(self, reason: str) -> Outcome:
        return Outcome("archived", self.target, reason, text=self.text)


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
        try:
            text = await self._learn(item)
        except (Refused, InvalidOperation) as refusal:
            return Outcome("blocked", target, str(refusal))
        work = self._note if item.kind == "note" else self._fact
        return await work(_Import(item, chat, target, text, again, write))

    async def _learn(self, item: Item) -> str:
        given = storable(str(item.data["text"]))
        text = entry_of(given) if item.kind == "note" else " ".join(given.split())
        passed = await self._host.learn(text, item.source, item.kind, origins=())
        return text if passed == text else storable(passed).strip()

    async def _note(self, new: _Import) -> Outcome:
        entries = await self._entries(new.chat)
        if new.text in entries:
            return new.already_known()
        limit = self._config.notes_max_chars
        too_large = new.too_large(f"the limit of notes is {limit:,} characters")
        if chars_of([*entries, new.text]) > limit:
            return too_large
        if not new.write:
            return Outcome("planned", new.target)
        # It passed ``pre_learn`` above, and does so again with the change.
        person = _OperatorAuthor(self._host)
        try:
            await self._changes.apply(person, new.source, [Operation("add", new.text)])
        except NotesFull:
            return too_large
        except InvalidOperation as error:
            return Outcome("error", new.target, str(error))
        return new.migrated()

    async def _fact(self, new: _Import) -> Outcome:
        if not new.text:
            return Outcome("skipped", new.target, "empty")
        known = await self._facts.of_chat(new.chat)
        if any(fact.content == new.text for fact in known):
            return new.already_known()
        longest, most = self._config.fact_max_chars, self._config.facts_max
        if len(new.text) > longest:
            return new.too_large(f"the limit of a fact is {longest:,} characters")
        if len(known) >= most:
            return new.too_large(f"the limit of a chat is {most:,} facts")
        if not new.write:
            return Outcome("planned", new.target)
        if not await self._remember(new.source, self._new_fact(new)):
            return Outcome("skipped", new.target, "another fact says the same", {})
        return new.migrated()

    def _new_fact(self, new: _Import) -> Fact:
        category, created = new.item.data.get("category"), new.item.data.get("created")
        now = self._host.now()
        return Fact(
            0,
            new.chat.channel,
            new.chat.chat_id,
            new.text,
            category if category in CATEGORIES else "knowledge",
            DEFAULT_CONFIDENCE,
            "",
            "",
            min(float(created), now) if isinstance(created, int | float) else now,
            None,
            new.source.origins,
        )

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


def _chat(item: Item) -> Chat:
    label: Any = item.data.get("chat") or f"{TERMINAL}:default"
    found = Chat.named(str(label))
    if found is None:
        raise InvalidOperation(f"{label!r} is not a chat; write CHANNEL:ID")
    return found
