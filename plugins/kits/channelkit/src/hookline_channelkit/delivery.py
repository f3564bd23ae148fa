"""Delivers replies with markup, files and buttons, in pieces that are each sent once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from hookline_hookspecs import Attachment, Audio, Choice, Host, Reply, crash

from .answer_streams import AnswerStream, AnswerStreams
from .client import UNKNOWN, PlatformClient, SendOptions
from .containers import ChatLocks
from .delivery_ledger import DeliveryLedger, DeliveryProgress, delivery_token
from .errors import (
    BadMarkup,
    ChatGone,
    DeliveryUnknown,
    MessageGone,
    MessageTooLong,
    NotModified,
    PermissionDenied,
    RetryAfter,
)
from .files import UnsupportedFile, check_outgoing
from .limits import Kind
from .message_splitter import MIN_LIMIT, Piece, length_function, next_piece
from .problems import PermissionProblems
from .rate_limiter import RateLimiter
from .sent_messages import ButtonLabels, SentMessages

REPEAT_MARK = "(may be a repeat)"
"""Precedes a part that may have been delivered, if the platform cannot find out."""
MAX_RATE_LIMIT_WAIT = 60.0
"""Seconds of the longest :class:`RetryAfter` that is waited out here; core handles longer ones."""
BUTTONS_ONLY_TEXT = "Please choose."
"""The text of buttons without text."""


class Delivery:
    """Delivers replies.

    Args:
        host: the plugin's host.
        client: the platform.
        rates: paces requests.
        locks: allow one request at a time in each chat.
        streams: the messages of running turns, which become their replies.
        problems: where missing permissions are reported.
        labels: stores the labels of buttons.
        sent: records the messages that are sent.
    """

    def __init__(
        self,
        host: Host,
        client: PlatformClient,
        rates: RateLimiter,
        locks: ChatLocks,
        streams: AnswerStreams,
        problems: PermissionProblems,
        labels: ButtonLabels,
        sent: SentMessages,
    ) -> None:
        self.host, self.client, self.rates, self.streams = host, client, rates, streams
        self.locks, self.problems, self.labels, self.sent = locks, problems, labels, sent
        self.ledger = DeliveryLedger(host)

    async def send(self, reply: Reply) -> Sequence[str]:
        """Deliver a reply. Returns the ids of its messages, texts first.

        Raises the client's errors; the next call then continues where this one ended. A reply to a
        chat that is gone, or to which the bot may not write, is given up.
        """
        try:
            ids = await self._send(reply)
        except BaseException:
            self.labels.end(reply.id)
            raise
        if not reply.session.id:  # not from core, which will not announce it
            self.labels.end(reply.id)
        return ids

    async def _send(self, reply: Reply) -> Sequence[str]:
        chat = reply.session.chat_id
        self.streams.close(chat, reply.in_reply_to)
        async with self.locks.of(chat):
            progress = await self.ledger.open(reply)
            if not progress.done:
                stream = await self.streams.claim(chat, reply.in_reply_to)
                try:
                    await _DeliveryAttempt(self, reply, progress, stream).run()
                except (ChatGone, PermissionDenied) as error:
                    if isinstance(error, PermissionDenied):
                        await self.problems.report(error)
                    self.host.log.warning("gave up a reply to chat %s: %s", chat, error)
                    progress.done = True
                    await self.ledger.record(reply, progress)
            await self.streams.finish(chat, reply.in_reply_to)
            return tuple(progress.ids)


class _DeliveryAttempt:
    """One attempt to deliver the rest of a reply."""

    def __init__(
        self,
        delivery: Delivery,
        reply: Reply,
        progress: DeliveryProgress,
        stream: AnswerStream | None,
    ) -> None:
        self._host, self._client = delivery.host, delivery.client
        self._rates, self._ledger = delivery.rates, delivery.ledger
        self._problems, self._labels = delivery.problems, delivery.labels
        self._sent = delivery.sent
        self._streams, self._stream = delivery.streams, stream
        self._reply, self._progress = reply, progress
        self._chat, self._reply_to = reply.session.chat_id, reply.in_reply_to
        self._text = reply.text if reply.text.strip() else ""
        if not self._text and reply.choices:
            self._text = BUTTONS_ONLY_TEXT
        self._limits = delivery.client.limits
        self._room = delivery.client.limits.text

    async def run(self) -> None:
        """Send the rest."""
        progress = self._progress
        await self._wait_out_limits(self._choose_chat)
        await self._wait_out_limits(self._settle_stream)
        while progress.sent < len(self._text):
            await self._wait_out_limits(self._send_next_piece)
        while progress.files < len(self._reply.attachments):
            await self._wait_out_limits(self._send_next_file)
        if not progress.done:
            await self._record()

    async def _wait_out_limits(self, step: Callable[[], Awaitable[None]]) -> None:
        """Run a step, and repeat it after a rate limit."""
        while True:
            try:
                return await step()
            except RetryAfter as error:
                self._rates.pause(self._chat, error)
                if error.retry_after > MAX_RATE_LIMIT_WAIT:
                    raise

    async def _record(self) -> None:
        """Record the progress; after its last part the reply is done."""
        progress, reply = self._progress, self._reply
        all_text = progress.sent >= len(self._text)
        progress.done = all_text and progress.files >= len(reply.attachments)
        await self._ledger.record(reply, progress)

    async def _choose_chat(self) -> None:
        """Send a reply for one person to their private chat if there are no ephemeral messages."""
        person = self._reply.audience
        if person is None or "ephemeral" in self._client.can:
            return
        private = await self._client.private_chat(person)
        if private is None:
            raise ChatGone("the reply is for one person, who has no private chat")
        if private != self._chat:
            self._chat, self._reply_to = private, None

    async def _settle_stream(self) -> None:
        """Look up a running answer that is in doubt; delete one that cannot become the reply."""
        stream, progress = self._stream, self._progress
        if stream is None:
            return
        if stream.in_doubt and await self._streams.look_up(stream) is UNKNOWN and self._text:
            progress.marked = progress.marked or progress.sent == 0
            progress.unsure = progress.unsure or progress.marked
        is_elsewhere = self._chat != stream.chat or self._reply.audience is not None
        if stream.message is not None and (is_elsewhere or not self._text):
            await self._streams.discard_message(stream)

    def _options(self, token: str, **more: object) -> SendOptions:
        return SendOptions(
            token=token,
            thread=self._reply.thread,
            audience=self._reply.audience,
            kind=self._reply.kind,
            **more,  # type: ignore[arg-type]
        )

    # Text

    async def _send_next_piece(self) -> None:
        progress = self._progress
        token = delivery_token(self._reply.id, "text", progress.sent)
        if progress.unsure and not progress.marked and not self._edits_stream():
            piece = self._next_piece("")
            text = self._render(piece.text) or piece.text
            if (found := await self._look_up(token, text)) is not None:
                await self._confirm(found, progress.end or piece.end)
                return
        marked = progress.marked and not self._edits_stream()
        piece = self._next_piece(f"{REPEAT_MARK}\n" if marked else "")
        if not piece.source.strip():
            progress.sent = self._end_of(piece.end)
            await self._record()
            return
        progress.end = piece.end
        try:
            message = await self._send_piece(piece, token)
        except MessageTooLong:
            if self._room <= MIN_LIMIT:
                raise
            length = length_function(self._limits.unit)(piece.text)
            self._room = max(MIN_LIMIT, min(self._room, length) * 3 // 4)
            return
        await self._confirm(message, piece.end)

    def _next_piece(self, mark: str) -> Piece:
        """Return the next piece, with ``mark`` before it."""
        piece = next_piece(
            self._text, self._limits, self._progress.sent, room=self._room, frame=mark
        )
        return replace(piece, text=mark + piece.text)

    def _end_of(self, end: int) -> int:
        """Return where a piece ends; whitespace at the end of the text is not sent."""
        return end if self._text[end:].strip() else len(self._text)

    async def _confirm(self, message: str, end: int) -> None:
        """Record that a piece was delivered as ``message``."""
        progress = self._progress
        progress.sent = self._end_of(end)
        progress.ids.append(message)
        progress.confirm()
        if progress.sent >= len(self._text) and (choices := self._choices()):
            await self._labels.save(self._reply, message, [choice.label for choice in choices])
        await self._record()

    def _choices(self) -> tuple[Choice, ...]:
        limit = self._limits.choices
        buttons = self._reply.buttons
        return buttons if limit is None or len(buttons) <= limit else ()

    def _edits_stream(self) -> bool:
        """Whether the next piece goes into the message of the running turn."""
        has_message = self._stream is not None and self._stream.message is not None
        return has_message and self._progress.sent == 0

    async def _send_piece(self, piece: Piece, token: str) -> str:
        """Send a piece, as plain text if its markup is rejected; return the message's id."""
        is_last = self._end_of(piece.end) >= len(self._text)
        options = self._options(token, choices=self._choices() if is_last else ())
        if options.choices:
            self._labels.begin(self._reply.id, self._chat)
        rendered = self._render(piece.text)
        if rendered.strip():
            try:
                return await self._put(rendered, replace(options, rich=True))
            except BadMarkup as error:
                self._host.log.warning("sending a text without its markup: %s", error)
        return await self._put(piece.text, options)

    def _render(self, markdown: str) -> str:
        try:
            return self._client.render(markdown)
        except Exception:
            self._host.log.exception("cannot format a text; sending it plain")
            return ""

    async def _put(self, text: str, options: SendOptions) -> str:
        """Edit the message of the running turn, or send a new one; return its id."""
        stream = self._stream
        if stream is not None and stream.message is not None and self._progress.sent == 0:
            try:
                return await self._edit_stream(stream, stream.message, text, options)
            except MessageGone:
                await self._streams.discard_message(stream)
        reply_to = self._reply_to if self._progress.sent == 0 else None
        options = replace(options, reply_to=reply_to)
        return await self._request(
            "text", lambda: self._client.send_text(self._chat, text, options)
        )

    async def _edit_stream(
        self, stream: AnswerStream, message: str, text: str, options: SendOptions
    ) -> str:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(max(0.0, stream.edited_at + self._limits.edit_every - loop.time()))
        await self._rates.acquire(self._chat, "edit")
        sequence = self._streams.next_sequence(stream)
        options = replace(options, token=stream.token, sequence=sequence)
        crash.point("before-edit")
        try:
            await self._client.edit_message(self._chat, message, text, options)
        except NotModified:
            pass
        finally:
            stream.edited_at = loop.time()
        crash.point("after-edit")
        return message

    async def _request(self, kind: Kind, send: Callable[[], Awaitable[str]]) -> str:
        """Send a new message, and record it before and after; return its id."""
        progress = self._progress
        await self._rates.acquire(self._chat, kind)
        await self._ledger.begin(self._reply, progress)
        crash.point("before-part")
        began = self._host.now()
        try:
            message = await send()
        except Exception as error:
            progress.in_flight = False
            progress.unsure = progress.unsure or isinstance(error, DeliveryUnknown)
            if not progress.unsure:
                progress.began = 0.0
            await self._ledger.record(self._reply, progress)
            raise
        crash.point("after-part")
        self._sent.add(self._chat, message, began)
        progress.confirm()
        return message

    async def _look_up(self, token: str, text: str) -> str | None:
        """Return a message that was delivered already, or None to send it again.

        It is marked as a possible repeat if the platform cannot find out.
        """
        progress = self._progress
        found = await self._client.find_message(self._chat, token, text, progress.began)
        if found is UNKNOWN:
            progress.marked = True
            return None
        if found is None:
            progress.unsure = False
        return found

    # Files

    async def _send_next_file(self) -> None:
        """Send the next attachment, or a sentence that says why it cannot be sent."""
        progress = self._progress
        item = self._reply.attachments[progress.files]
        caption = item.caption if isinstance(item, Attachment) else ""
        token = delivery_token(self._reply.id, "file", progress.files)
        message: str | None = None
        if progress.unsure and not progress.marked:
            message = await self._look_up(token, caption)
        if message is None:
            message = await self._send_file(item, token, caption)
        progress.ids.append(message)
        progress.files += 1
        progress.confirm()
        await self._record()

    async def _send_file(self, item: Attachment | Audio, token: str, caption: str) -> str:
        mark = REPEAT_MARK if self._progress.marked else ""
        caption = "\n".join(filter(None, [mark, caption]))
        options = self._options(token, caption=caption, reply_to=self._reply_to)
        try:
            checked = await asyncio.to_thread(check_outgoing, item, self._limits.file_bytes)
            return await self._request(
                "file", lambda: self._client.send_file(self._chat, checked, options)
            )
        except UnsupportedFile as error:
            self._host.log.warning("%s", error)
            sentence = f"({error})"
        except PermissionDenied as error:
            await self._problems.report(error)
            sentence = "(There is a file here that this bot is not allowed to send.)"
        plain = self._options(token)
        return await self._request(
            "text", lambda: self._client.send_text(self._chat, sentence, plain)
        )
