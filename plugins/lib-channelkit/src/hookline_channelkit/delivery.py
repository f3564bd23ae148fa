"""Replies on their way out: in pieces, each once, formatted or plain, with files and buttons."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from hookline_hookspecs import Attachment, Host, Reply

from .errors import BadMarkup, Gone, Lost, NotModified, RetryAfter, TooLong, Unsure
from .kinds import Unfit, checked
from .locks import Locks
from .progress import Ledger, Progress
from .rates import Rates
from .splitting import SMALLEST, Piece, cut, length_of
from .streaming import Stream, Streams
from .wire import Wire

MARK = "(may be a repeat)"
"""Before what was perhaps delivered already, where the process died or the line broke."""
WAITED = 60.0
"""Seconds of a :class:`RetryAfter` that are waited for here; for more, core calls again later."""
NO_WORDS = "Please choose."
"""Above buttons that came without words."""


class Delivery:
    """Sends replies.

    Args:
        host: the plugin's host.
        wire: the platform.
        rates: how fast.
        locks: one request at a time in each chat.
        streams: messages of running turns, which replies become.
    """

    def __init__(
        self, host: Host, wire: Wire, rates: Rates, locks: Locks, streams: Streams
    ) -> None:
        self.host, self.wire, self.rates, self.streams = host, wire, rates, streams
        self.locks = locks
        self.ledger = Ledger(host)

    async def send(self, reply: Reply) -> Sequence[str]:
        """Deliver a reply; the ids of its messages, the texts first.

        Raises what the wire raises: then the next call goes on where this one ended. A reply to a
        chat that is gone is given up.
        """
        chat = reply.session.chat_id
        self.streams.close(chat, reply.in_reply_to)
        async with self.locks.of(chat):
            progress = await self.ledger.open(reply)
            if not progress.done:
                stream = await self.streams.take(chat, reply.in_reply_to)
                try:
                    await _Sending(self, reply, progress, stream).run()
                except Gone as error:
                    self.host.log.warning("a reply to chat %s is given up: %s", chat, error)
                    progress.done = True
                    await self.ledger.record(reply, progress)
            await self.streams.over(chat, reply.in_reply_to)
            return tuple(progress.ids)


class _Sending:
    """One attempt at a reply."""

    def __init__(
        self, delivery: Delivery, reply: Reply, progress: Progress, stream: Stream | None
    ) -> None:
        self._host, self._wire = delivery.host, delivery.wire
        self._rates, self._ledger = delivery.rates, delivery.ledger
        self._streams, self._stream = delivery.streams, stream
        self._reply, self._progress = reply, progress
        self._chat = reply.session.chat_id
        self._text = reply.text if reply.text.strip() else NO_WORDS if reply.choices else ""
        self._length = length_of(delivery.wire.limits.unit)
        self._limit = delivery.wire.limits.text
        if stream is not None and stream.doubt and progress.sent == 0 and self._text:
            progress.unsure = True

    async def run(self) -> None:
        """Send what is missing."""
        progress = self._progress
        await self._patiently(self._clear_stream)
        while progress.sent < len(self._text):
            await self._patiently(self._next_piece)
        while progress.files < len(self._reply.attachments):
            await self._patiently(self._next_file)
        if not progress.done:
            await self._keep()

    async def _patiently(self, step: Callable[[], Awaitable[None]]) -> None:
        """Take a step, again after the time that the platform asks to wait."""
        while True:
            try:
                return await step()
            except RetryAfter as error:
                self._rates.hold(self._chat, error)
                if error.retry_after > WAITED:
                    raise

    async def _keep(self) -> None:
        """Record the progress; with its last part the reply is done."""
        progress, reply = self._progress, self._reply
        is_whole = progress.sent >= len(self._text)
        progress.done = is_whole and progress.files >= len(reply.attachments)
        await self._ledger.record(reply, progress)

    async def _clear_stream(self) -> None:
        """A reply without words leaves nothing of what was shown."""
        stream = self._stream
        if not self._text and stream is not None and stream.message is not None:
            await self._streams.lose(stream)

    # Text

    async def _next_piece(self) -> None:
        progress = self._progress
        mark = f"{MARK}\n" if progress.unsure and not self._has_message() else ""
        limit = max(SMALLEST, self._limit - self._length(mark))
        piece = next(cut(self._text, limit, self._length, progress.sent))
        is_last = not self._text[piece.end :].strip()
        if piece.source.strip():
            try:
                progress.ids.append(await self._piece(piece, mark, is_last))
            except TooLong:
                if self._limit <= SMALLEST:
                    raise
                self._limit = max(SMALLEST, min(self._limit, len(piece.text)) * 3 // 4)
                return
        progress.sent = len(self._text) if is_last else piece.end
        await self._keep()

    def _has_message(self) -> bool:
        """True if the next piece goes into the message of the running turn."""
        shown = self._stream is not None and self._stream.message is not None
        return shown and self._progress.sent == 0

    async def _piece(self, piece: Piece, mark: str, is_last: bool) -> str:
        """Deliver a piece, plain if the platform does not take it formatted; its message's id."""
        choices = self._reply.choices if is_last else ()
        rendered = self._rendered(mark + piece.text)
        if rendered.strip():
            try:
                return await self._put(rendered, True, choices)
            except BadMarkup as error:
                self._host.log.warning("a text is sent without its markup: %s", error)
        return await self._put(mark + piece.text, False, choices)

    def _rendered(self, markdown: str) -> str:
        try:
            return self._wire.render(markdown)
        except Exception:
            self._host.log.exception("a text cannot be formatted and is sent plain")
            return ""

    async def _put(self, text: str, rich: bool, choices: tuple[str, ...]) -> str:
        """Into the message of the running turn, or as a new one."""
        stream = self._stream
        if stream is not None and stream.message is not None and self._progress.sent == 0:
            try:
                return await self._edit(stream, stream.message, text, rich, choices)
            except Lost:
                await self._streams.lose(stream)
        reply_to = self._reply.in_reply_to if self._progress.sent == 0 else None
        return await self._new(
            lambda: self._wire.text(self._chat, text, rich=rich, reply_to=reply_to, choices=choices)
        )

    async def _edit(
        self, stream: Stream, message: str, text: str, rich: bool, choices: tuple[str, ...]
    ) -> str:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(max(0.0, stream.edited + self._wire.limits.edit_every - loop.time()))
        await self._rates.wait(self._chat)
        try:
            await self._wire.edit(self._chat, message, text, rich=rich, choices=choices)
        except NotModified:
            pass
        finally:
            stream.edited = loop.time()
        return message

    async def _new(self, request: Callable[[], Awaitable[str]]) -> str:
        """Send something new; what becomes of it is recorded before and after."""
        progress = self._progress
        await self._rates.wait(self._chat)
        await self._ledger.begin(self._reply, progress)
        try:
            made = await request()
        except Exception as error:
            progress.begun = False
            progress.unsure = progress.unsure or isinstance(error, Unsure)
            await self._ledger.record(self._reply, progress)
            raise
        progress.begun = progress.unsure = False
        return made

    # Files

    async def _next_file(self) -> None:
        """Send the next attachment, or say why it cannot be sent."""
        progress = self._progress
        item = self._reply.attachments[progress.files]
        words = item.caption if isinstance(item, Attachment) else ""
        caption = "\n".join(filter(None, [MARK if progress.unsure else "", words]))
        try:
            fit = await asyncio.to_thread(checked, item, self._wire.limits.file_bytes)
        except Unfit as error:
            self._host.log.warning("%s", error)
            made = await self._say(f"({error})")
        else:
            made = await self._new(
                lambda: self._wire.file(
                    self._chat, fit, caption=caption, reply_to=self._reply.in_reply_to
                )
            )
        progress.ids.append(made)
        progress.files += 1
        await self._keep()

    async def _say(self, sentence: str) -> str:
        return await self._new(
            lambda: self._wire.text(self._chat, sentence, rich=False, reply_to=None, choices=())
        )
