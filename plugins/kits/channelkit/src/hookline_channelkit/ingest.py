"""Passes received events to core's inbox, which drops repeats, in the order of their chat.

A message with files waits in the inbox until they are downloaded, which happens only if its sender
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
from .pastes import PasteJoiner, PasteLimit
from .sent_messages import ButtonLabels, SentMessages

DIGESTS_PREFIX = "digests:"
"""Prefix of the chat: digests and authors of its latest messages. They serve to drop edits that do
not change the text, and to look up the author of a deleted message."""
MAX_DIGESTS_PER_CHAT = 64
MIN_TIMESTAMP_GAP = 1e-5
"""Minimum seconds between the stored times of two messages of a chat."""
MAX_TIMESTAMPED_CHATS = 4096


class Ingest:
    """Stores received events.

    Args:
        host: the plugin's host.
        channel: the name of the channel.
        sent: the bot's latest messages, for the order of messages.
        downloader: downloads files.
        labels: the labels of buttons.
        catch_up: reads chats that are behind.
        pastes: when people's apps split a long text.
    """

    def __init__(
        self,
        host: Host,
        channel: str,
        sent: SentMessages,
        downloader: FileDownloader,
        labels: ButtonLabels,
        catch_up: CatchUp,
        pastes: PasteLimit | None,
    ) -> None:
        self._host, self._channel, self._sent = host, channel, sent
        self._downloader, self._labels, self._catch_up = downloader, labels, catch_up
        self._locks, self._pastes = ChatLocks(), PasteJoiner(pastes)
        self._in_progress: set[asyncio.Future[bool]] = set()
        self._timestamps: OrderedDict[str, float] = OrderedDict()

    async def load(self) -> None:
        """Start to download files, also those of a dead process. Raises ``StoreError``."""

        async def fetch(inbound: Inbound, files: Sequence[Mapping[str, Any]]) -> Inbound:
            return await self._downloader.attach(inbound, [RemoteFile(**file) for file in files])

        await self._host.services[GatewayHost].fetch_files(self._channel, fetch)

    async def ingest(self, event: InboundEvent | Inbound) -> bool:
        """Store an event; see :class:`ReceiveCallback`.

        Shielded from cancellation, which could otherwise leave a stored message that no task works
        on.
        """
        whole = event if isinstance(event, InboundEvent) else InboundEvent(event)
        storing = asyncio.ensure_future(self._ingest(self._identified(whole)))
        self._in_progress.add(storing)
        storing.add_done_callback(self._in_progress.discard)
        return await asyncio.shield(storing)

    async def _ingest(self, event: InboundEvent) -> bool:
        inbound = event.inbound
        if inbound.kind == "press":  # does not queue: the person sees a spinning button
            return await self._host.receive(await self._labelled(inbound))
        return await self._pastes.store(event, self._ingest_in_order)

    async def _ingest_in_order(self, event: InboundEvent) -> bool:
        async with self._locks.of(event.history_chat):
            await self._catch_up.catch_up(event.history_chat, self.ingest_missed)
            return await self._persist(event)

    async def ingest_missed(self, event: InboundEvent) -> bool:
        """Store an event found by catching up; the caller holds the lock of its history's chat."""
        return await self._persist(self._identified(event))

    async def skip(self, chat: str, cursor: str) -> None:
        """Skip a message: its chat has been read up to it."""
        await self._pastes.settle(chat)  # a message before it is not stored yet
        async with self._locks.of(chat):
            self._catch_up.skip(chat, cursor)

    def lock_of(self, chat: str) -> asyncio.Lock:
        """Return the lock that is held while an event of a chat is stored."""
        return self._locks.of(chat)

    async def wait(self) -> None:
        """Wait until no event is being stored."""
        while self._in_progress:
            await asyncio.wait(set(self._in_progress))

    def _identified(self, event: InboundEvent) -> InboundEvent:
        """Return the event with its channel and, if the kit derives it, its id."""
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
        """Return a press with its button's label as text, and the id of the question.

        A press of an unknown button chooses nothing: core answers that the question is closed. It
        gets another id, so that a later press still counts.
        """
        found = await self._labels.find(inbound.chat_id, inbound.target or "", inbound.text)
        if found is not None:
            return replace(inbound, text=found[0], question=found[1])
        return replace(inbound, text="", message_id=f"{inbound.message_id}:unknown")

    async def _persist(self, event: InboundEvent) -> bool:
        """Store an event and advance its chat's cursor; the caller holds its history's lock."""
        chat, history_chat = event.inbound.chat_id, event.history_chat
        try:
            if chat == history_chat:
                is_new = await self._store(event)
            else:  # always the outer chat first, to prevent deadlocks
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
        """Return the message with a time after that of the chat's previous one.

        Core orders messages of a dead process by these times.
        """
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

    # Digests of the latest messages

    async def _changes_text(self, edit: Inbound) -> bool:
        """Whether an edit changes the text; platforms report previews and reactions as edits."""
        digest, _ = await self._digest_and_author(edit.chat_id, edit.target or "")
        return digest != text_digest(edit.text)

    async def _digest_and_author(self, chat: str, message: str) -> tuple[str, str]:
        """Return the digest of a message's text, and its author; both empty if it is not known."""
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
