"""The way of a received event to core's inbox: stored at once, in order within a chat, and whole.

A message with files waits in the inbox until they are downloaded, which is done only if its sender
may write.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from hookline_hookspecs import GatewayHost, Host, Inbound, crash

from .catchup import CatchUp
from .containers import ChatLocks
from .events import InboundEvent, RemoteFile, text_digest
from .media import FileDownloader
from .sent_messages import ButtonLabels, SentMessages

DIGESTS_PREFIX = "digests:"
"""Before the chat: digest and author of each of its latest messages. An edit is dropped if it does
not change the text, and the author of a deleted message is looked up there."""
MAX_DIGESTS_PER_CHAT = 64
MIN_TIMESTAMP_GAP = 1e-5
"""Least seconds between two messages of a chat, as they are stored."""
MAX_TIMESTAMPED_CHATS = 4096


class Ingest:
    """Stores received events.

    Args:
        host: the plugin's host.
        channel: the name of the channel.
        sent: what the bot had sent when a message was written.
        downloader: downloads files.
        labels: the labels of buttons.
        catch_up: how far each chat has been read.
    """

    def __init__(
        self,
        host: Host,
        channel: str,
        sent: SentMessages,
        downloader: FileDownloader,
        labels: ButtonLabels,
        catch_up: CatchUp,
    ) -> None:
        self._host, self._channel, self._sent = host, channel, sent
        self._downloader, self._labels, self._catch_up = downloader, labels, catch_up
        self._locks = ChatLocks()
        self._in_progress: set[asyncio.Future[bool]] = set()
        self._timestamps: OrderedDict[str, float] = OrderedDict()

    async def load(self) -> None:
        """Download files from now on, and those that a dead process left. Raises ``StoreError``."""

        async def fetch(inbound: Inbound, files: Sequence[Mapping[str, Any]]) -> Inbound:
            return await self._downloader.attach(inbound, [RemoteFile(**file) for file in files])

        await self._host.services[GatewayHost].fetch_files(self._channel, fetch)

    async def ingest(self, event: InboundEvent | Inbound) -> bool:
        """Store an event; see :class:`ReceiveCallback`.

        Shielded from cancellation, which could otherwise leave a message stored with no task that
        works on it.
        """
        whole = event if isinstance(event, InboundEvent) else InboundEvent(event)
        storing = asyncio.ensure_future(self._ingest(self._identified(whole)))
        self._in_progress.add(storing)
        storing.add_done_callback(self._in_progress.discard)
        return await asyncio.shield(storing)

    async def _ingest(self, event: InboundEvent) -> bool:
        inbound = event.inbound
        if inbound.kind == "press":  # queues behind nothing: its person sees a spinning button
            return await self._host.receive(await self._labelled(inbound))
        async with self._locks.of(event.history_chat):
            await self._catch_up.catch_up(event.history_chat, self.ingest_missed)
            return await self._persist(event)

    async def ingest_missed(self, event: InboundEvent) -> bool:
        """Store an event found by catching up; the caller holds the lock of its history's chat."""
        return await self._persist(self._identified(event))

    async def skip(self, chat: str, cursor: str) -> None:
        """Store nothing of a message; its chat has been read up to it."""
        async with self._locks.of(chat):
            self._catch_up.skip(chat, cursor)

    def lock_of(self, chat: str) -> asyncio.Lock:
        """The lock that is held while an event of a chat is stored."""
        return self._locks.of(chat)

    async def wait(self) -> None:
        """Return when no event is being stored."""
        while self._in_progress:
            await asyncio.wait(set(self._in_progress))

    def _identified(self, event: InboundEvent) -> InboundEvent:
        """The event with its channel, and with an id where the kit derives it; see
        :class:`InboundEvent`."""
        inbound = replace(event.inbound, channel=self._channel)
        target = inbound.target or ""
        if target and not inbound.message_id:
            ids = {
                "press": f"press:{inbound.chat_id}:{target}:{inbound.user_id}",
                "edit": f"{target}:edit:{text_digest(inbound.text)}",
                "delete": f"{target}:delete",
            }
            inbound = replace(inbound, message_id=ids.get(inbound.kind, ""))
        return replace(event, inbound=inbound)

    async def _labelled(self, inbound: Inbound) -> Inbound:
        """A press with the label of its button as text. A press of an unknown button chooses
        nothing and gets an id of its own, so that a later press still counts."""
        label = await self._labels.label_of(inbound.chat_id, inbound.target or "", inbound.text)
        if label is not None:
            return replace(inbound, text=label)
        return replace(inbound, text="", message_id=f"{inbound.message_id}:unknown")

    async def _persist(self, event: InboundEvent) -> bool:
        """Store an event and advance its chat's cursor; the caller holds its history's lock."""
        chat, history_chat = event.inbound.chat_id, event.history_chat
        try:
            if chat == history_chat:
                is_new = await self._store(event)
            else:  # always the outer chat first, so that two tasks never wait for each other
                async with self._locks.of(chat):
                    is_new = await self._store(event)
        except BaseException:
            self._catch_up.mark_failed(history_chat)
            raise
        crash.point("after-keep")
        await self._catch_up.advance(event)
        return is_new

    async def _store(self, event: InboundEvent) -> bool:
        inbound = self._timestamped(event)
        if inbound.kind == "edit" and not await self._changes_text(inbound):
            return False
        if inbound.kind == "delete" and not inbound.user_id:
            _, author = await self._digest_and_author(inbound.chat_id, inbound.target or "")
            if not author:
                return False  # not a message for the agent, or an old one
            inbound = replace(inbound, user_id=author)
        if event.files:
            is_new = await self._host.receive(inbound, [asdict(file) for file in event.files])
        else:
            is_new = await self._host.receive(inbound)
        if is_new and inbound.kind in ("message", "edit"):
            await self._save_digest(inbound)
        return is_new

    def _timestamped(self, event: InboundEvent) -> Inbound:
        """The message with a time later than that of the chat's previous one: core orders what a
        dead process left by these times."""
        inbound = event.inbound
        received = self._sent.received_at(
            inbound.chat_id, event.cursor, inbound.received or self._host.now()
        )
        previous = self._timestamps.pop(inbound.chat_id, 0.0)
        received = max(received, previous + MIN_TIMESTAMP_GAP)
        self._timestamps[inbound.chat_id] = received
        while len(self._timestamps) > MAX_TIMESTAMPED_CHATS:
            self._timestamps.popitem(last=False)
        return replace(inbound, received=received)

    # What the latest messages said

    async def _changes_text(self, edit: Inbound) -> bool:
        """False for an edit that leaves the text as it is: platforms report those too, when a
        preview or a reaction appears."""
        digest, _ = await self._digest_and_author(edit.chat_id, edit.target or "")
        return digest != text_digest(edit.text)

    async def _digest_and_author(self, chat: str, message: str) -> tuple[str, str]:
        """The digest of a message's text, and its author; both empty if it is not known."""
        stored = (await self._host.storage.kv.get(DIGESTS_PREFIX + chat, {})).get(message)
        return (str(stored[0]), str(stored[1])) if isinstance(stored, list) else ("", "")

    async def _save_digest(self, inbound: Inbound) -> None:
        """Store the digest of a message. A failure is logged: an edit then counts as a change."""
        kv, key = self._host.storage.kv, DIGESTS_PREFIX + inbound.chat_id
        message = inbound.target if inbound.kind == "edit" else inbound.message_id
        try:
            digests = dict(await kv.get(key, {}))
            digests.pop(message, None)
            digests[message] = [text_digest(inbound.text), inbound.user_id]
            await kv.set(key, dict(list(digests.items())[-MAX_DIGESTS_PER_CHAT:]))
        except Exception as error:
            self._host.log.warning("cannot store the digest of a message: %s", error)
