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
from decimal import Decimal

from hookline_hookspecs.parts import is_command

from .containers import BoundedDict
from .events import InboundEvent
from .inbound_markdown import after_code_block
from .message_splitter import Length
from .sent_messages import cursor_number

PASTE_PAUSE = 1.0
"""Seconds without a further part after which a text is complete."""
MAX_PASTE_SECONDS = 10.0
"""Seconds after the first part in which further parts are awaited."""
MAX_GAP = 3.0
"""Seconds between the times at which two parts were sent."""
MAX_PARTS = 50
"""Parts of one text."""
SEARCHED_CHARS = 300
"""Characters before the end of a part in which apps look for white space to split at: 300 on
Android (github.com/DrKLO/Telegram, ``ChatActivityEnterView``), half of a part elsewhere."""


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
        return is_plain and self.length(event.written) >= self.least

    def continues(self, part: InboundEvent, event: InboundEvent) -> bool:
        """Whether ``event`` is the next part of the text that ends with ``part``.

        Of a reply, some apps mark the first part as a reply, and others every part.
        """
        before, after = part.inbound, event.inbound
        same = (before.chat_id, before.user_id, before.forwarded)
        quote = (after.quoted, after.reply_to)
        return (
            self.may_go_on(part)
            and after.kind == "message"
            and same == (after.chat_id, after.user_id, after.forwarded)
            and not event.files
            and (not any(quote) or quote == (before.quoted, before.reply_to))
            and not is_command(after.text)
            and -MAX_GAP <= after.sent - before.sent <= MAX_GAP
        )

    async def join_all(self, events: AsyncIterator[InboundEvent]) -> AsyncIterator[InboundEvent]:
        """Yield the events of a history, with texts that were split joined."""
        texts, waiting = SplitTexts(self), list[list[InboundEvent]]()
        async for event in events:
            if not texts.extend(event):
                waiting.append(texts.begin(event))
            while waiting and not self._is_awaited(waiting[0][-1], event):
                yield self.join(waiting.pop(0))
        for parts in waiting:
            yield self.join(parts)

    def _is_awaited(self, part: InboundEvent, event: InboundEvent) -> bool:
        """Whether a further part may follow ``part`` after ``event``."""
        return self.may_go_on(part) and event.inbound.sent - part.inbound.sent <= MAX_GAP

    def join(self, parts: Sequence[InboundEvent]) -> InboundEvent:
        """Return the whole text, as a message with the id of its last part."""
        ordered = sorted(parts, key=lambda part: cursor_number(part.cursor) or Decimal(0))
        first, last = ordered[0], ordered[-1]
        text = first.inbound.text
        for part, after in itertools.pairwise(ordered):
            text = self._joined(text, part, after)
        inbound = replace(
            first.inbound,
            text=text,
            message_id=last.inbound.message_id,
            addressed=any(part.inbound.addressed for part in parts),
        )
        return replace(first, inbound=inbound, cursor=last.cursor)

    def _joined(self, text: str, part: InboundEvent, after: InboundEvent) -> str:
        """Return a text that ends with ``part``, and ``after``.

        An app drops the white space at which it has split. It splits within a word only where it
        finds no white space near the end of the longest part.
        """
        written = part.written
        is_within_word = (
            self.length(written) >= self.most and not written[-SEARCHED_CHARS:].split(None, 1)[1:]
        )
        gap = "" if is_within_word else "\n"
        if (code := after_code_block(text, after.inbound.text)) and not written.endswith("```"):
            return code[0] + gap + code[1]
        return text + gap + after.inbound.text


class SplitTexts:
    """Finds the parts of texts among messages in their order.

    What others write, and a picture that the same person sends, may come between two parts.
    """

    def __init__(self, limit: PasteLimit) -> None:
        self._limit = limit
        self._open: BoundedDict[tuple[str, str], list[InboundEvent]] = BoundedDict()
        """The parts of a text that may go on, by chat and person."""

    def extend(self, event: InboundEvent) -> bool:
        """Add a message to the parts of the text that it continues; False if there is none."""
        parts = self._open.get(_writer(event))
        if parts is None or not self._limit.continues(parts[-1], event):
            return False
        if not _is_among(parts, event):
            parts.append(event)
        return True

    def begin(self, event: InboundEvent) -> list[InboundEvent]:
        """Return the parts of the text that begins with a message; :meth:`extend` adds others."""
        parts = [event]
        if self._limit.may_go_on(event):
            self._open[_writer(event)] = parts
        elif not event.files:
            self._open.pop(_writer(event), None)
        return parts


def _is_among(parts: Sequence[InboundEvent], event: InboundEvent) -> bool:
    return event.inbound.message_id in {part.inbound.message_id for part in parts}


def _writer(event: InboundEvent) -> tuple[str, str]:
    return event.inbound.chat_id, event.inbound.user_id


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

    def is_ended_by(self, event: InboundEvent) -> bool:
        """Whether no part comes after an event: the same person has written something else."""
        is_same = event.inbound.user_id == self.parts[0].inbound.user_id
        return (is_same and not event.files) or is_command(event.inbound.text)


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
            if _is_among(held.parts, event):  # delivered twice
                await asyncio.shield(held.stored)
                return False
            if not held.is_over and limit.continues(held.parts[-1], event):
                held.parts.append(event)
                held.is_over = len(held.parts) >= MAX_PARTS or not limit.may_go_on(event)
                held.changed.set()
                return await asyncio.shield(held.stored)
            if held.is_ended_by(event):
                held.is_over = True
                held.changed.set()
            await asyncio.wait({held.stored})
        if not limit.may_go_on(event):
            return await store(event)
        return await self._hold(_Paste([event]), limit, store)

    async def settle(self, chat: str) -> None:
        """Wait until no message in the history of a chat is held back."""
        while held := {
            paste.stored for paste in self._held.values() if paste.parts[0].history_chat == chat
        }:
            await asyncio.wait(held)

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
