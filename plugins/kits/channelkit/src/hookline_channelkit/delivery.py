"""Replies on their way out: in pieces, each once, formatted or plain, with files and buttons."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from hookline_hookspecs import Attachment, Audio, Choice, Host, Reply, crash

from .asked import Asked
from .errors import BadMarkup, Gone, Lost, NotModified, Refused, RetryAfter, TooLong, Unsure
from .kinds import Unfit, checked
from .limits import Kind
from .locks import Locks
from .progress import Ledger, Progress, token_of
from .rates import Rates
from .refusals import Refusals
from .shown import Shown
from .splitting import SMALLEST, Piece, fitting, length_of
from .streaming import Stream, Streams
from .wire import UNKNOWN, Post, Wire

MARK = "(may be a repeat)"
"""Before what was perhaps delivered already, where the platform cannot tell whether it was."""
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
        refusals: where a missing permission is told.
        asked: which labels the buttons of a message have.
        shown: told of what is sent.
    """

    def __init__(
        self,
        host: Host,
        wire: Wire,
        rates: Rates,
        locks: Locks,
        streams: Streams,
        refusals: Refusals,
        asked: Asked,
        shown: Shown,
    ) -> None:
        self.host, self.wire, self.rates, self.streams = host, wire, rates, streams
        self.locks, self.refusals, self.asked, self.shown = locks, refusals, asked, shown
        self.ledger = Ledger(host)

    async def send(self, reply: Reply) -> Sequence[str]:
        """Deliver a reply; the ids of its messages, the texts first.

        Raises what the wire raises: then the next call goes on where this one ended. A reply to a
        chat that is gone, or that the bot may not write to, is given up.
        """
        try:
            ids = await self._send(reply)
        except BaseException:
            self.asked.over(reply.id)
            raise
        if not reply.session.id:  # core did not send it, and tells nobody of it
            self.asked.over(reply.id)
        return ids

    async def _send(self, reply: Reply) -> Sequence[str]:
        chat = reply.session.chat_id
        self.streams.close(chat, reply.in_reply_to)
        async with self.locks.of(chat):
            progress = await self.ledger.open(reply)
            if not progress.done:
                stream = await self.streams.take(chat, reply.in_reply_to)
                try:
                    await _Sending(self, reply, progress, stream).run()
                except (Gone, Refused) as error:
                    if isinstance(error, Refused):
                        await self.refusals.tell(error)
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
        self._refusals, self._asked = delivery.refusals, delivery.asked
        self._shown = delivery.shown
        self._streams, self._stream = delivery.streams, stream
        self._reply, self._progress = reply, progress
        self._chat, self._reply_to = reply.session.chat_id, reply.in_reply_to
        self._text = reply.text if reply.text.strip() else NO_WORDS if reply.choices else ""
        self._limits = delivery.wire.limits
        self._room = delivery.wire.limits.text

    async def run(self) -> None:
        """Send what is missing."""
        progress = self._progress
        await self._patiently(self._find_audience)
        await self._patiently(self._settle_stream)
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

    async def _find_audience(self) -> None:
        """A reply for one person goes to them alone, where the platform has no other way."""
        person = self._reply.audience
        if person is None or "ephemeral" in self._wire.can:
            return
        private = await self._wire.private_chat(person)
        if private is None:
            raise Gone("it is for one person, who cannot be written to alone")
        if private != self._chat:
            self._chat, self._reply_to = private, None

    async def _settle_stream(self) -> None:
        """Learn what became of the running answer. One that does not become the reply goes."""
        stream, progress = self._stream, self._progress
        if stream is None:
            return
        if stream.doubt and await self._streams.look_up(stream) is UNKNOWN and self._text:
            progress.marked = progress.marked or progress.sent == 0
            progress.unsure = progress.unsure or progress.marked
        is_elsewhere = self._chat != stream.chat or self._reply.audience is not None
        if stream.message is not None and (is_elsewhere or not self._text):
            await self._streams.lose(stream)

    def _post(self, token: str, **more: object) -> Post:
        return Post(
            token=token,
            thread=self._reply.thread,
            audience=self._reply.audience,
            kind=self._reply.kind,
            **more,  # type: ignore[arg-type]
        )

    # Text

    async def _next_piece(self) -> None:
        progress = self._progress
        token = token_of(self._reply.id, "text", progress.sent)
        if progress.unsure and not progress.marked and not self._has_message():
            piece = self._piece_of("")
            text = self._rendered(piece.text) or piece.text
            if (found := await self._look_up(token, text)) is not None:
                await self._delivered(found, progress.end or piece.end)
                return
        piece = self._piece_of(f"{MARK}\n" if progress.marked and not self._has_message() else "")
        if not piece.source.strip():
            progress.sent = self._end_of(piece.end)
            await self._keep()
            return
        progress.end = piece.end
        try:
            made = await self._piece(piece, token)
        except TooLong:
            if self._room <= SMALLEST:
                raise
            length = length_of(self._limits.unit)(piece.text)
            self._room = max(SMALLEST, min(self._room, length) * 3 // 4)
            return
        await self._delivered(made, piece.end)

    def _piece_of(self, mark: str) -> Piece:
        """The next piece, behind ``mark``."""
        piece = fitting(self._text, self._limits, self._progress.sent, room=self._room, frame=mark)
        return Piece(mark + piece.text, piece.source, piece.start, piece.end, piece.is_last)

    def _end_of(self, end: int) -> int:
        """Where a piece ends; blanks at the end of the text are not sent."""
        return end if self._text[end:].strip() else len(self._text)

    async def _delivered(self, message: str, end: int) -> None:
        progress = self._progress
        progress.sent = self._end_of(end)
        progress.ids.append(message)
        progress.confirm()
        if progress.sent >= len(self._text) and (choices := self._choices()):
            await self._asked.note(self._reply.id, self._chat, message, choices)
        await self._keep()

    def _choices(self) -> tuple[Choice, ...]:
        most = self._limits.choices
        buttons = self._reply.buttons
        return buttons if most is None or len(buttons) <= most else ()

    def _has_message(self) -> bool:
        """True if the next piece goes into the message of the running turn."""
        shown = self._stream is not None and self._stream.message is not None
        return shown and self._progress.sent == 0

    async def _piece(self, piece: Piece, token: str) -> str:
        """Deliver a piece, plain if the platform does not take it formatted; its message's id."""
        is_last = self._end_of(piece.end) >= len(self._text)
        post = self._post(token, choices=self._choices() if is_last else ())
        if post.choices:
            self._asked.coming(self._reply.id, self._chat)
        rendered = self._rendered(piece.text)
        if rendered.strip():
            try:
                return await self._put(rendered, post, rich=True)
            except BadMarkup as error:
                self._host.log.warning("a text is sent without its markup: %s", error)
        return await self._put(piece.text, post, rich=False)

    def _rendered(self, markdown: str) -> str:
        try:
            return self._wire.render(markdown)
        except Exception:
            self._host.log.exception("a text cannot be formatted and is sent plain")
            return ""

    async def _put(self, text: str, post: Post, *, rich: bool) -> str:
        """Into the message of the running turn, or as a new one."""
        stream = self._stream
        if stream is not None and stream.message is not None and self._progress.sent == 0:
            try:
                return await self._edit(stream, stream.message, text, replace(post, rich=rich))
            except Lost:
                await self._streams.lose(stream)
        reply_to = self._reply_to if self._progress.sent == 0 else None
        new = replace(post, rich=rich, reply_to=reply_to)
        return await self._new("text", lambda: self._wire.text(self._chat, text, new))

    async def _edit(self, stream: Stream, message: str, text: str, post: Post) -> str:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(max(0.0, stream.edited + self._limits.edit_every - loop.time()))
        await self._rates.wait(self._chat, "edit")
        post = replace(post, token=stream.token, sequence=self._streams.sequence_of(stream))
        crash.point("before-edit")
        try:
            await self._wire.edit(self._chat, message, text, post)
        except NotModified:
            pass
        finally:
            stream.edited = loop.time()
        crash.point("after-edit")
        return message

    async def _new(self, kind: Kind, request: Callable[[], Awaitable[str]]) -> str:
        """Send something new; what becomes of it is recorded before and after."""
        progress = self._progress
        await self._rates.wait(self._chat, kind)
        await self._ledger.begin(self._reply, progress)
        crash.point("before-part")
        began = self._host.now()
        try:
            made = await request()
        except Exception as error:
            progress.begun = False
            progress.unsure = progress.unsure or isinstance(error, Unsure)
            if not progress.unsure:
                progress.began = 0.0
            await self._ledger.record(self._reply, progress)
            raise
        crash.point("after-part")
        self._shown.note(self._chat, made, began)
        progress.confirm()
        return made

    async def _look_up(self, token: str, text: str) -> str | None:
        """The message that was perhaps sent, or None to send it again: with a mark, if the
        platform cannot tell."""
        progress = self._progress
        found = await self._wire.find(self._chat, token, text, progress.began)
        if found is UNKNOWN:
            progress.marked = True
            return None
        if found is None:
            progress.unsure = False
        return found

    # Files

    async def _next_file(self) -> None:
        """Send the next attachment, or say why it cannot be sent."""
        progress = self._progress
        item = self._reply.attachments[progress.files]
        words = item.caption if isinstance(item, Attachment) else ""
        token = token_of(self._reply.id, "file", progress.files)
        made: str | None = None
        if progress.unsure and not progress.marked:
            made = await self._look_up(token, words)
        if made is None:
            made = await self._file(item, token, words)
        progress.ids.append(made)
        progress.files += 1
        progress.confirm()
        await self._keep()

    async def _file(self, item: Attachment | Audio, token: str, words: str) -> str:
        caption = "\n".join(filter(None, [MARK if self._progress.marked else "", words]))
        post = self._post(token, caption=caption, reply_to=self._reply_to)
        try:
            fit = await asyncio.to_thread(checked, item, self._limits.file_bytes)
            return await self._new("file", lambda: self._wire.file(self._chat, fit, post))
        except Unfit as error:
            self._host.log.warning("%s", error)
            sentence = f"({error})"
        except Refused as error:
            await self._refusals.tell(error)
            sentence = "(A file belongs here that this bot is not allowed to send.)"
        said = self._post(token)
        return await self._new("text", lambda: self._wire.text(self._chat, sentence, said))
