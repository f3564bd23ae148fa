"""What a wire receives, on its way to core: stored at once, in order within a chat, and whole.

A message with files is stored by the kit first (``held:`` in ``host.storage.kv``), so that it can
be acknowledged; its files are fetched afterwards, and only of people who may write. Whatever comes
behind it in its chat waits for it there.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import asdict, dataclass, replace
from typing import Any

from hookline_hookspecs import Host, Inbound, Origin, crash

from .arrivals import Arrival, RemoteFile, digest
from .asked import Asked
from .catchup import CatchUp
from .fetching import Fetching
from .locks import Locks
from .shown import Shown

HELD = "held:"
"""Before chat and message in the plugin's key-value storage."""
WORDS = "words:"
"""Before the chat: digests of its last messages, by which an edit is known to change something, and
who wrote them."""
REMEMBERED = 64
"""Messages of a chat of which that is known."""
AGAIN = 10.0
"""Seconds after which a store that failed is tried again."""
A_MOMENT = 1e-5
"""Seconds between two messages of a chat at least, as they are stored."""
MOST = 4096
"""Chats whose last message is remembered."""


@dataclass(slots=True)
class _Queue:
    """Messages of a chat that are held, in order; somebody works on them while there are any."""

    waiting: list[str]
    worker: asyncio.Task[None] | None = None


class Taking:
    """Stores arrivals. ``channel`` is the channel's name.

    Args:
        host: the plugin's host.
        channel: the channel's name.
        shown: what stood in a chat when something was written.
        fetching: gets the files.
        asked: knows the labels of buttons.
        catch_up: knows how far each chat has been read.
    """

    def __init__(
        self,
        host: Host,
        channel: str,
        shown: Shown,
        fetching: Fetching,
        asked: Asked,
        catch_up: CatchUp,
    ) -> None:
        self._host, self._channel, self._shown = host, channel, shown
        self._fetching, self._asked, self._catch_up = fetching, asked, catch_up
        self._locks = Locks()
        self._queues: dict[str, _Queue] = {}
        self._under_way: set[asyncio.Future[bool]] = set()
        self._latest: OrderedDict[str, float] = OrderedDict()

    async def load(self) -> None:
        """Go on with what a dead process held. Raises ``StoreError``."""
        kv = self._host.storage.kv
        found = [(await kv.get(key), key) for key in await kv.keys(HELD)]
        for value, key in sorted((one for one in found if isinstance(one[0], dict)), key=_age):
            chat = value["inbound"]["chat_id"]
            queue = self._queues.setdefault(chat, _Queue([]))
            if key not in queue.waiting:
                queue.waiting.append(key)
        for chat in list(self._queues):
            self._work(chat)

    async def take(self, arrival: Arrival | Inbound) -> bool:
        """Store something (see :class:`Take`); a cancellation does not stop this half-way, where
        it would be stored and nobody would work on it."""
        found = arrival if isinstance(arrival, Arrival) else Arrival(arrival)
        found = replace(found, inbound=_with_id(replace(found.inbound, channel=self._channel)))
        storing = asyncio.ensure_future(self._take(found))
        self._under_way.add(storing)
        storing.add_done_callback(self._under_way.discard)
        return await asyncio.shield(storing)

    async def settled(self) -> None:
        """Return when nothing is being stored."""
        while self._under_way:
            await asyncio.wait(set(self._under_way))

    async def _take(self, arrival: Arrival) -> bool:
        inbound = arrival.inbound
        if inbound.kind == "press":  # waits for nothing: its person sees a button that spins
            return await self._host.receive(await self._labelled(inbound))
        async with self._locks.of(arrival.place):
            await self._catch_up.before(arrival.place, self.keep)
            return await self._kept(arrival)

    async def _labelled(self, inbound: Inbound) -> Inbound:
        """The press of a button with what that says. One that says nothing chooses nothing; it is
        another message than a later press, which may say something."""
        chat, message = inbound.chat_id, inbound.target or ""
        label = await self._asked.label_of(chat, message, inbound.text)
        if label is not None:
            return replace(inbound, text=label)
        return replace(inbound, text="", message_id=f"{inbound.message_id}:unknown")

    async def keep(self, arrival: Arrival) -> bool:
        """Store something found by catching up; the caller holds the order of its place."""
        inbound = _with_id(replace(arrival.inbound, channel=self._channel))
        return await self._kept(replace(arrival, inbound=inbound))

    async def skip(self, chat: str, cursor: str) -> None:
        """Nothing is to be stored of a message; its chat has been read up to it."""
        async with self._locks.of(chat):
            self._catch_up.skipped(chat, cursor)

    def in_order(self, chat: str) -> asyncio.Lock:
        """What is held while something of a chat is stored."""
        return self._locks.of(chat)

    async def _kept(self, arrival: Arrival) -> bool:
        chat, place = arrival.inbound.chat_id, arrival.place
        try:
            if chat == place:
                is_new = await self._store(arrival)
            else:  # a place is around its chats, so that nobody waits for both the other way round
                async with self._locks.of(chat):
                    is_new = await self._store(arrival)
        except BaseException:
            self._catch_up.failed(place)
            raise
        crash.point("after-keep")
        await self._catch_up.reached(arrival)
        return is_new

    async def _store(self, arrival: Arrival) -> bool:
        inbound = self._stamped(arrival)
        if inbound.kind == "edit" and not await self._changes_words(inbound):
            return False
        if inbound.kind == "delete" and not inbound.user_id:
            _, writer = await self._remembered(inbound.chat_id, inbound.target or "")
            if not writer:
                return False  # of a message that was not for the agent, or long ago
            inbound = replace(inbound, user_id=writer)
        arrival = replace(arrival, inbound=inbound)
        queue = self._queues.get(inbound.chat_id)
        if queue is not None and inbound.kind == "delete":
            await self._drop(queue, inbound)
        if queue is None and not arrival.files:
            is_new = await self._host.receive(inbound)
        else:
            is_new = await self._hold(arrival)
        if is_new and inbound.kind in ("message", "edit"):
            await self._remember(inbound)
        return is_new

    def _stamped(self, arrival: Arrival) -> Inbound:
        """The message with a time later than that of the chat's last one: core goes by the times
        when it takes up what a dead process left."""
        inbound, now = arrival.inbound, self._host.now()
        chat, last = inbound.chat_id, self._latest.pop(inbound.chat_id, 0.0)
        received = self._shown.received(chat, arrival.cursor, inbound.received or now)
        received = max(received, last + A_MOMENT)
        self._latest[inbound.chat_id] = received
        while len(self._latest) > MOST:
            self._latest.popitem(last=False)
        return replace(inbound, received=received)

    # Held

    async def _hold(self, arrival: Arrival) -> bool:
        inbound, kv = arrival.inbound, self._host.storage.kv
        key = f"{HELD}{inbound.chat_id}\n{inbound.message_id}"
        words = await kv.get(WORDS + inbound.chat_id, {})
        if inbound.message_id in words or await kv.get(key) is not None:
            return False
        files = [asdict(file) for file in arrival.files]
        queue = self._queues.setdefault(inbound.chat_id, _Queue([]))
        at = [self._host.now(), len(queue.waiting)]
        await kv.set(key, {"inbound": _to_json(inbound), "files": files, "at": at})
        queue.waiting.append(key)
        self._work(inbound.chat_id)
        return True

    def _work(self, chat: str) -> None:
        queue = self._queues[chat]
        if queue.worker is None or queue.worker.done():
            queue.worker = self._host.spawn(self._let_in(chat, queue), "fetch")

    async def _let_in(self, chat: str, queue: _Queue) -> None:
        """Fetch the files of what is held, and give it to core, one by one."""
        kv = self._host.storage.kv
        while queue.waiting:
            key = queue.waiting[0]
            try:
                value = await kv.get(key)
                if isinstance(value, dict):
                    whole = await self._fetched(value)
                    crash.point("after-fetch")
                    if key in queue.waiting:
                        await self._host.receive(whole)
                await kv.delete(key)
            except Exception as error:
                self._host.log.warning("a message with files waits: %s", error)
                await asyncio.sleep(AGAIN)
                continue
            if key in queue.waiting:
                queue.waiting.remove(key)
        if self._queues.get(chat) is queue:
            del self._queues[chat]

    async def _fetched(self, value: Any) -> Inbound:
        inbound = _from_json(value["inbound"])
        files = tuple(RemoteFile(**file) for file in value["files"])
        return await self._fetching.complete(inbound, files)

    async def _drop(self, queue: _Queue, inbound: Inbound) -> None:
        """What is held and was deleted goes nowhere."""
        key = f"{HELD}{inbound.chat_id}\n{inbound.target}"
        if key in queue.waiting:
            queue.waiting.remove(key)
            await self._host.storage.kv.delete(key)

    # Edits

    async def _changes_words(self, inbound: Inbound) -> bool:
        """False for an edit that leaves the words as they are: a platform tells it too when a
        preview appears, or a reaction."""
        words, _ = await self._remembered(inbound.chat_id, inbound.target or "")
        return words != digest(inbound.text)

    async def _remembered(self, chat: str, message: str) -> tuple[str, str]:
        """The digest of a message's words, and who wrote it; empty if that is not known."""
        kept = (await self._host.storage.kv.get(WORDS + chat, {})).get(message)
        return (str(kept[0]), str(kept[1])) if isinstance(kept, list) else (str(kept or ""), "")

    async def _remember(self, inbound: Inbound) -> None:
        """Know the words of a message. A failure is logged: then an edit counts as a change."""
        kv, key = self._host.storage.kv, WORDS + inbound.chat_id
        name = inbound.target if inbound.kind == "edit" else inbound.message_id
        try:
            words = {n: one for n, one in (await kv.get(key, {})).items() if n != name}
            words[name] = [digest(inbound.text), inbound.user_id]
            await kv.set(key, dict(list(words.items())[-REMEMBERED:]))
        except Exception as error:
            self._host.log.warning("the words of a message cannot be remembered: %s", error)


def _with_id(inbound: Inbound) -> Inbound:
    """The message with an id, where the kit makes it; see :class:`Arrival`."""
    target = inbound.target or ""
    if inbound.message_id or not target:
        return inbound
    made = {
        "press": f"press:{inbound.chat_id}:{target}:{inbound.user_id}",
        "edit": f"{target}:edit:{digest(inbound.text)}",
        "delete": f"{target}:delete",
    }
    return replace(inbound, message_id=made.get(inbound.kind, ""))


def _age(one: tuple[Any, str]) -> Any:
    return one[0]["at"]


def _to_json(inbound: Inbound) -> dict[str, Any]:
    value = asdict(replace(inbound, attachments=()))
    return {**value, "origins": [asdict(origin) for origin in inbound.origins]}


def _from_json(value: dict[str, Any]) -> Inbound:
    origins = tuple(Origin(**origin) for origin in value["origins"])
    return Inbound(**{**value, "attachments": (), "origins": origins})
