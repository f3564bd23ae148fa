"""Takes in what another program knows of a person (service ``Importer``)."""

from __future__ import annotations

from collections.abc import Sequence

from hookline_hookspecs import Host, Refused
from hookline_hookspecs.chat_files import Chat
from hookline_hookspecs.importers import Item, Outcome, Receipt, State

from .config import UserModelConfig
from .curating import KIND
from .portrait import joined, lines
from .userfile import Complaint, name_of
from .versions import Portraits, Present, Source, Version

HOW = "import"
TERMINAL = "terminal:default"


class PortraitImporter:
    """A portrait is taken in where a chat has none; two are never mixed."""

    kinds = frozenset({"user"})

    def __init__(self, host: Host, config: UserModelConfig, portraits: Portraits) -> None:
        self._host = host
        self._config = config
        self._portraits = portraits

    async def look(self, item: Item) -> Outcome:
        """What :meth:`take` would do."""
        return await self._done(item, again=False, write=False)

    async def take(self, item: Item, *, again: bool = False) -> Outcome:
        """Make the item the chat's portrait."""
        return await self._done(item, again=again, write=True)

    async def _done(self, item: Item, *, again: bool, write: bool) -> Outcome:
        chat = _chat(str(item.data.get("chat") or TERMINAL))
        target = name_of(chat)
        try:
            given = str(item.data["text"])
            passed = await self._host.learn(given, item.source, KIND, origins=())
        except Refused as refusal:
            return Outcome("blocked", target, str(refusal))
        text = joined(lines(passed.replace("\0", ""))).strip()
        if not text:
            return Outcome("skipped", target, "it is empty")
        if len(text) > self._config.max_chars:
            told = f"a portrait has at most {self._config.max_chars:,} characters"
            return Outcome("archived", target, told, text=text)
        receipt = {"chat": chat.label, "text": text}
        there = (await self._portraits.present(chat)).text
        if there == text:
            state: State = "migrated" if again else "skipped"
            return Outcome(state, target, "" if again else "it is known already", receipt)
        if there:
            return Outcome("conflict", target, "the chat has a portrait already", text=text)
        if not write:
            return Outcome("planned", target)
        await self._portraits.change(chat, Source(HOW), lambda now, _past: now.text or text)
        if (await self._portraits.present(chat)).text != text:
            return Outcome("conflict", target, "the chat has a portrait already", text=text)
        return Outcome("migrated", target, receipt=receipt)

    async def give_back(self, kind: str, receipt: Receipt) -> Outcome:
        """Remove the portrait, unless it reads otherwise by now."""
        chat, text = _chat(receipt["chat"]), receipt["text"]

        def make(present: Present, past: Sequence[Version]) -> str:
            return "" if present.text == text else present.text

        if await self._portraits.change(chat, Source("undo"), make):
            return Outcome("migrated", name_of(chat), "it was changed since")
        return Outcome("planned", name_of(chat))


def _chat(label: str) -> Chat:
    found = Chat.named(label)
    if found is None:
        raise Complaint(f"{label!r} is no chat; write CHANNEL:ID")
    return found
