"""Joins the parts of a long text that a person's app has split into several messages.

Nothing marks such parts. A message is the beginning of one if it is long, and the next message
continues it if the same person sent it to the same chat a moment later, without anything new: no
command, no file, no quote.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

from hookline_hookspecs.parts import is_command

from .events import InboundEvent
from .message_splitter import Length

PASTE_PAUSE = 1.0
"""Seconds without a further part after which a text is complete."""
MAX_PASTE_SECONDS = 10.0
"""Seconds after the first part in which further parts are awaited."""
MAX_GAP = 3.0
"""Seconds between the times at which two parts were sent."""
MAX_PARTS = 50
"""Parts of one text."""


@dataclass(frozen=True, slots=True)
class PasteLimit:
    """When a platform's apps split a text.

    Args:
        most: the maximum length of a message.
        least: the minimum length of a part that is not the last; apps look for a line break or the
            end of a sentence before ``most``.
        length: measures a text as the platform does.
    """

    most: int
    least: int
    length: Length = len

    def may_go_on(self, event: InboundEvent) -> bool:
        """Whether a message may be a part of a text with further parts."""
        inbound = event.inbound
        is_plain = inbound.kind == "message" and not event.files and not is_command(inbound.text)
        return is_plain and self.length(inbound.text) >= self.least

    def continues(self, part: InboundEvent, event: InboundEvent) -> bool:
        """Whether ``event`` is the next part of the text that ends with ``part``."""
        before, after = part.inbound, event.inbound
        same = (before.chat_id, before.user_id, before.forwarded)
        return (
            self.may_go_on(part)
            and after.kind == "message"
            and same == (after.chat_id, after.user_id, after.forwarded)
            and not event.files
            and not (after.quoted or after.reply_to)
            and not is_command(after.text)
            and -MAX_GAP <= after.sent - before.sent <= MAX_GAP
        )

    async def join_all(self, events: AsyncIterator[InboundEvent]) -> AsyncIterator[InboundEvent]:
        """Yield the events of a history, with texts that were split joined."""
        parts: list[InboundEvent] = []
        async for event in events:
            if parts and self.continues(parts[-1], event):
                parts.append(event)
                continue
            if parts:
                yield self.join(parts)
            parts = [event]
        if parts:
            yield self.join(parts)

    def join(self, parts: Sequence[InboundEvent]) -> InboundEvent:
        """Return the whole text, as a message with the id of its last part.

        An app drops the white space at which it has split. A part that is as long as possible was
        split within a word.
        """
        text = parts[0].inbound.text
        for part, after in itertools.pairwise(parts):
            is_full = self.length(part.inbound.text) >= self.most
            text += ("" if is_full else "\n") + after.inbound.text
        last = parts[-1]
        inbound = replace(
            parts[0].inbound,
            text=text,
            message_id=last.inbound.message_id,
            addressed=any(part.inbound.addressed for part in parts),
        )
        return replace(parts[0], inbound=inbound, cursor=last.cursor)


@dataclass(slots=True, eq=False)
class _Paste:
    """The parts of a text so far. ``stored`` is set when the whole text is stored, or has failed
    to be."""

    parts: list[InboundEvent]
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    is_over: bool = False
    stored: asyncio.Future[bool] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


class PasteJoiner:
    """Holds a message back while its next part may come.

    A message that is held back is not stored, and so not acknowledged to the platform.
    """

    def __init__(self, limit: PasteLimit | None) -> None:
        self._limit = limit
        self._held: dict[str, _Paste] = {}
        """By chat."""

    async def store(
        self, event: InboundEvent, store: Callable[[InboundEvent], Awaitable[bool]]
    ) -> bool:
        """Store an event with ``store``, or with the text that it continues.

        Messages of a chat are stored in the order in which they came.
        """
        limit, chat = self._limit, event.inbound.chat_id
        if limit is None:
            return await store(event)
        while (held := self._held.get(chat)) is not None:
            if not held.is_over and limit.continues(held.parts[-1], event):
                held.parts.append(event)
                held.is_over = len(held.parts) >= MAX_PARTS or not limit.may_go_on(event)
                held.changed.set()
                return await asyncio.shield(held.stored)
            held.is_over = True
            held.changed.set()
            await asyncio.wait({held.stored})
        if not limit.may_go_on(event):
            return await store(event)
        return await self._hold(_Paste([event]), limit, store)

    async def _hold(
        self, paste: _Paste, limit: PasteLimit, store: Callable[[InboundEvent], Awaitable[bool]]
    ) -> bool:
        chat = paste.parts[0].inbound.chat_id
        self._held[chat] = paste
        try:
            await _until_complete(paste)
            is_new = await store(limit.join(paste.parts))
        except BaseException as error:
            paste.stored.set_exception(error)
            paste.stored.exception()  # the caller raises it too
            raise
        finally:
            if self._held.get(chat) is paste:
                del self._held[chat]
        paste.stored.set_result(is_new)
        return is_new


async def _until_complete(paste: _Paste) -> None:
    """Wait until no further part has come for a moment."""
    loop = asyncio.get_running_loop()
    until = loop.time() + MAX_PASTE_SECONDS
    while not paste.is_over and (left := min(PASTE_PAUSE, until - loop.time())) > 0:
        paste.changed.clear()
        try:
            async with asyncio.timeout(left):
                await paste.changed.wait()
        except TimeoutError:
            break
    paste.is_over = True
