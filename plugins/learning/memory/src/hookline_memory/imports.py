"""Takes in notes and facts that another program has remembered (service ``Importer``)."""

from __future__ import annotations

import asyncio
from typing import Any

from hookline_hookspecs import Host, Origin, Refused, Transaction
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.chat_files import Chat
from hookline_hookspecs.importers import Item, Outcome, Receipt, State

from .changes import SURE, Changes
from .config import MemoryConfig
from .fact import Fact
from .facts import CATEGORIES, Facts, Writer
from .log import Source, add_entry
from .notechanges import Full
from .notes import chars_of, entry_of
from .operations import Operation
from .places import Places
from .wording import Complaint, one_line, storable

KINDS = frozenset({"note", "fact"})
HOW = "import"
KNOWN = "it is known already"


class _Person:
    """Who asks for a change: the operator, by a command of their own, in the chat itself."""

    operator = False

    def __init__(self, host: Host) -> None:
        self._host = host

    async def learn(self, text: str, source: str, kind: str) -> str:
        return await self._host.learn(text, source, kind, origins=())


class MemoryImporter:
    """Notes keep their limit and facts theirs: what does not fit is handed back whole."""

    kinds = KINDS

    def __init__(
        self, host: Host, config: MemoryConfig, places: Places, facts: Facts, changes: Changes
    ) -> None:
        self._host = host
        self._config = config
        self._places = places
        self._facts = facts
        self._changes = changes

    async def look(self, item: Item) -> Outcome:
        """What :meth:`take` would do."""
        return await self._done(item, again=False, write=False)

    async def take(self, item: Item, *, again: bool = False) -> Outcome:
        """Remember the item."""
        return await self._done(item, again=again, write=True)

    async def _done(self, item: Item, *, again: bool, write: bool) -> Outcome:
        chat = _chat(item)
        target = self._target(item.kind, chat)
        origins = (Origin("outside", item.source),)
        try:
            text = await self._learnt(item)
        except (Refused, Complaint) as refusal:
            return Outcome("blocked", target, str(refusal))
        work = self._note if item.kind == "note" else self._fact
        return await work(item, chat, text, origins, target, again=again, write=write)

    async def _learnt(self, item: Item) -> str:
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
            return Outcome(state, target, "" if again else KNOWN, receipt)
        limit = self._config.notes_max_chars
        if chars_of([*entries, text]) > limit:
            return self._over(target, f"the notes hold at most {limit:,} characters", text)
        if not write:
            return Outcome("planned", target)
        source = Source(chat, "", "", HOW, origins)
        # It has passed the gate; here it passes once more, as every change of the notes does.
        person = _Person(self._host)
        try:
            await self._changes.make(person, source, [Operation("add", text)])
        except Full:
            return self._over(target, f"the notes hold at most {limit:,} characters", text)
        except Complaint as error:
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
            return Outcome("skipped", target, "it is empty")
        known = await self._facts.of_chat(chat)
        if any(one.content == text for one in known):
            state: State = "migrated" if again else "skipped"
            return Outcome(state, target, "" if again else KNOWN, receipt)
        if len(text) > self._config.fact_max_chars:
            most = self._config.fact_max_chars
            return self._over(target, f"a fact has at most {most:,} characters", text)
        if len(known) >= self._config.facts_max:
            return self._over(target, f"a chat has at most {self._config.facts_max:,} facts", text)
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
            SURE,
            "",
            "",
            min(float(created), now) if isinstance(created, int | float) else now,
            None,
            origins,
        )
        if not await self._remember(Source(chat, "", "", HOW, origins), fact):
            return Outcome("skipped", target, "another fact says the same", {})
        return Outcome("migrated", target, receipt=receipt)

    async def _remember(self, source: Source, fact: Fact) -> bool:
        def work(db: Transaction) -> bool:
            writer = Writer(db, source.chat, self._host.now())
            if writer.knows(fact.content):
                return False
            writer.remember(fact, self._config.facts_max)
            add_entry(db, source, writer.changes, self._host.now())
            return True

        self._facts.forget_read()
        try:
            return await self._host.storage.transact(work)
        finally:
            self._facts.forget_read()

    async def give_back(self, kind: str, receipt: Receipt) -> Outcome:
        """Forget what was taken in, unless it reads otherwise by now."""
        chat = Chat.named(receipt["chat"])
        assert chat is not None
        text, target = receipt["text"], self._target(kind, chat)
        if kind == "note":
            present = text in await self._entries(chat)
            operation = Operation("remove", old_text=text)
        else:
            ids = [one.id for one in await self._facts.of_chat(chat) if one.content == text]
            present = bool(ids)
            operation = Operation("forget", old_text=f"#{ids[0]}" if ids else "")
        if not present:
            told = f"`{one_line(text, 40)}` was changed or removed since"
            return Outcome("migrated", target, told)
        source = Source(chat, "", "", HOW)
        await self._changes.make(_Person(self._host), source, [operation])
        return Outcome("planned", target)

    async def _entries(self, chat: Chat) -> tuple[str, ...]:
        file = self._places.writable(chat, operator=False)[0]
        return (await asyncio.to_thread(file.read)).notes.entries

    def _target(self, kind: str, chat: Chat) -> str:
        if kind == "note":
            return self._places.writable(chat, operator=False)[0].name
        return f"facts of {chat.label}"

    @staticmethod
    def _over(target: str, why: str, text: str) -> Outcome:
        return Outcome("archived", target, why, text=text)


def _chat(item: Item) -> Chat:
    label: Any = item.data.get("chat") or f"{TERMINAL}:default"
    found = Chat.named(str(label))
    if found is None:
        raise Complaint(f"{label!r} is no chat; write CHANNEL:ID")
    return found
