"""Chat in a pipe: each line is a message, answers go to stdout, all else to stderr."""

from __future__ import annotations

import asyncio
import codecs
import os
import sys
import threading
from collections.abc import AsyncIterator
from typing import Any

from hookline_hookspecs import Delta, ModelResponse, Notice, Question, Reply, ToolResult
from hookline_markdown import literal, readable

from .activity import attachment_line, call_line, is_chat, is_followed, notice_line, refusal_of
from .config import TerminalConfig
from .conversation import LEAVE, Conversation
from .paint import unpainted
from .results import Folds, told

SILENCE = 130.0
"""Seconds after which a message that began no turn counts as one without an answer, as of a
command that says nothing. A hook of core has at most 120."""
WIDTH = 100
"""Columns of lines about tool calls."""
_READ_SIZE = 65_536


class Plain:
    """Reads lines of stdin; one is answered before the next is sent."""

    def __init__(self, conversation: Conversation, config: TerminalConfig) -> None:
        self._conversation = conversation
        self._config = config
        self._folds = Folds(config.diff_lines, config.output_lines, hint="")
        self._reader_gone = False
        for stream in (sys.stdout, sys.stderr):
            # What the locale cannot show must not keep a reply from being delivered.
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="replace")

    @property
    def receivers(self) -> dict[str, Any]:
        """Notices, and tool calls if wanted."""
        found: dict[str, Any] = {"notice": self._notice}
        if sys.stdout.isatty():
            found["delta"] = self._delta
        if self._config.tool_lines:
            found |= {"post_model": self._calls, "post_tool": self._result}
        return found

    async def run(self) -> None:
        """Answer every line, until the input ends or nobody reads the answers."""
        async for line in stdin_lines():
            text = line.strip()
            if text.casefold() in LEAVE:
                return
            if text:
                await self._conversation.say(text)
                await self._answered()
            if self._reader_gone:
                return

    async def _answered(self) -> None:
        talk = self._conversation
        while talk.open and not self._reader_gone:
            talk.changed.clear()
            try:
                await asyncio.wait_for(talk.changed.wait(), SILENCE)
            except TimeoutError:
                if not talk.turns:
                    _tell("No answer came.")
                    talk.open.clear()

    def show(self, reply: Reply) -> None:
        """An answer to stdout; an error, or what answers nothing said here, to stderr."""
        text = "\n".join([reply.text, *map(attachment_line, reply.attachments)]).strip("\n")
        if not self._conversation.ours(reply):
            _tell(f"From session {reply.session.id}: {text}")
        elif self._conversation.failed(reply):
            _tell(f"hookline: {text}")
        elif text:
            self._answer(text)
        self._conversation.answered(reply)

    def _answer(self, text: str) -> None:
        shown = readable(text) if sys.stdout.isatty() else text
        try:
            sys.stdout.write(shown + "\n")
            sys.stdout.flush()
        except BrokenPipeError:
            self._reader_gone = True
            self._conversation.changed.set()
            # Python flushes stdout once more at exit; let that succeed.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise

    async def ask(self, question: Question) -> str | None:
        """Nobody can be asked through a pipe."""
        return None

    def _notice(self, notice: Notice, ctx: Any = None) -> None:
        if self._config.tool_lines and refusal_of(notice):
            return  # the line of the tool's result says it
        if ctx is None or is_followed(ctx):
            _tell(notice_line(notice))

    def _delta(self, delta: Delta, ctx: Any = None) -> None:
        if delta.kind == "waiting" and is_chat(ctx):
            _tell(literal(delta.text))

    def _calls(self, response: ModelResponse, ctx: Any = None) -> None:
        if is_followed(ctx):
            for call in response.message.tool_calls:
                _tell(f"· {call_line(call)}")

    def _result(self, result: ToolResult, ctx: Any = None) -> None:
        if is_followed(ctx):
            rows, _ = told(result, WIDTH, self._folds)
            _tell(unpainted("\n".join(rows)))


def _tell(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


async def stdin_lines() -> AsyncIterator[str]:
    """The lines of stdin, a last one without a newline too; undecodable bytes become U+FFFD.

    A thread reads, since a file cannot be waited for; it reads past Python's buffer, whose lock
    would hold up the end of the process while the read is under way.
    """
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[str | None] = asyncio.Queue()

    def read() -> None:
        decode = codecs.getincrementaldecoder("utf-8-sig")(errors="replace").decode
        rest = ""
        while data := _read_some():
            *lines, rest = (rest + decode(data)).split("\n")
            for line in lines:
                loop.call_soon_threadsafe(queue.put_nowait, line)
        for last in (rest + decode(b"", final=True), None):
            loop.call_soon_threadsafe(queue.put_nowait, last)

    threading.Thread(target=_until_closed, args=(read,), name="stdin", daemon=True).start()
    while (line := await queue.get()) is not None:
        yield line


def _read_some() -> bytes:
    try:
        return os.read(sys.stdin.fileno(), _READ_SIZE)
    except (OSError, ValueError, AttributeError):  # closed, or never there
        return b""


def _until_closed(read: Any) -> None:
    try:
        read()
    except RuntimeError:
        # The loop ended while this thread was reading: nobody is left to tell.
        return
