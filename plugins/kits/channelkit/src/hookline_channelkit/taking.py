"""What a wire receives, on its way to core: stored at once, in order within a chat, and whole.

A message with files waits in core's inbox until they are fetched, which is done only for people
who may write.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from hookline_hookspecs import GatewayHost, Host, Inbound, crash

from .arrivals import Arrival, RemoteFile, digest
from .asked import Asked
from .catchup import CatchUp
from .fetching import Fetching
from .locks import Locks
from .shown import Shown

WORDS = "words:"
"""Before the chat: digests of its last messages, by which an edit is known to change something, and
who wrote them."""
REMEMBERED = 64
"""Messages of a chat of which that is known."""
A_MOMENT = 1e-5
"""Seconds between two messages of a chat at least, as they are stored."""
MOST = 4096
"""Chats whose last message is remembered."""


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
        self._under_way: set[asyncio.Future[bool]] = set()
        self._latest: OrderedDict[str, float] = OrderedDict()

    async def load(self) -> None:
        """Fetch files from now on, and those that a dead process left. Raises ``StoreError``."""

        async def fetch(inbound: Inbound, files: Sequence[Mapping[str, Any]]) -> Inbound:
            return await self._fetching.complete(inbound, [RemoteFile(**file) for file in files])

        await self._host.services[GatewayHost].fetch_files(self._channel, fetch)

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
        if arrival.files:
            files = [asdict(file) for file in arrival.files]
            is_new = await self._host.receive(inbound, files)
        else:
            is_new = await self._host.receive(inbound)
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
