"""Chat in a pipe: each line is a message, answers go to stdout, everything else to stderr."""

from __future__ import annotations

import asyncio
import codecs
import os
import sys
import threading
from collections.abc import AsyncIterator
from typing import Any

from hookline_hookspecs import Delta, ModelResponse, Notice, Question, Reply, ToolResult
from hookline_markdown import hanging, literal, readable, window_width

from .activity import attachment_line, call_line, is_chat, is_followed, notice_line, refused_tool
from .config import TerminalConfig
from .conversation import EXIT_COMMANDS, TerminalConversation
from .styles import unstyled
from .tool_results import FoldLimits, result_rows

NO_ANSWER_TIMEOUT = 130.0
"""Seconds after which a message without a turn, such as a command, counts as unanswered. Hooks
may take 120."""
LINE_COLUMNS = 100
"""Columns of lines about tool calls."""
_READ_SIZE = 65_536


class PipedChat:
    """Reads lines of stdin; each is answered before the next is sent."""

    def __init__(self, conversation: TerminalConversation, config: TerminalConfig) -> None:
        self._conversation = conversation
        self._config = config
        self._limits = FoldLimits(config.diff_lines, config.output_lines, hint="")
        self._reader_gone = False
        self._fault: OSError | None = None
        for stream in (sys.stdout, sys.stderr):
            # A character that the locale cannot show must not stop the delivery of a reply.
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="replace")

    @property
    def receivers(self) -> dict[str, Any]:
        """The receivers to connect, by signal."""
        found: dict[str, Any] = {"notice": self._notice}
        if sys.stdout.isatty():
            found["delta"] = self._delta
        if self._config.tool_lines:
            found |= {"post_model": self._calls, "post_tool": self._result}
        return found

    async def run(self) -> None:
        """Answer every line until the input ends or the reader of stdout is gone.

        Raises:
            OSError: stdout cannot be written, for example because the disk is full.
        """
        async for line in stdin_lines():
            text = line.strip()
            if text.casefold() in EXIT_COMMANDS:
                return
            if text:
                await self._conversation.say(text)
                await self._wait_for_answer()
            if self._fault is not None:
                raise self._fault
            if self._reader_gone:
                return

    async def _wait_for_answer(self) -> None:
        talk = self._conversation
        while talk.open and not self._reader_gone:
            talk.changed.clear()
            try:
                await asyncio.wait_for(talk.changed.wait(), NO_ANSWER_TIMEOUT)
            except TimeoutError:
                if not talk.turns:
                    _write_stderr("No answer.")
                    talk.open.clear()

    def show(self, reply: Reply) -> None:
        """Write an answer to stdout; errors and replies of other sessions go to stderr."""
        text = "\n".join([reply.text, *map(attachment_line, reply.attachments)]).strip("\n")
        if not self._conversation.is_own_reply(reply):
            _write_stderr(f"From session {reply.session.id}: {text}")
        elif self._conversation.is_failure(reply):
            _write_stderr(f"hookline: {text}")
        elif text:
            self._write_answer(text)
        self._conversation.mark_answered(reply)

    def _write_answer(self, text: str) -> None:
        shown = hanging(readable(text), window_width()) if sys.stdout.isatty() else text
        try:
            sys.stdout.write(shown + "\n")
            sys.stdout.flush()
        except OSError as error:
            self._reader_gone = True
            self._fault = None if isinstance(error, BrokenPipeError) else error
            self._conversation.changed.set()
            # Python flushes stdout once more at exit, which must succeed.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise

    async def leave(self) -> None:
        """Stop nothing: a turn that runs is finished or resumed."""

    async def ask(self, _question: Question) -> None:
        """Return None: a person cannot be asked through a pipe."""

    @property
    def spent(self) -> str:
        """Nothing: the cost is not shown in a pipe."""
        return ""

    def _notice(self, notice: Notice, ctx: Any = None) -> None:
        if self._config.tool_lines and refused_tool(notice):
            return  # shown by the line of the tool's result
        if ctx is None or is_followed(ctx):
            _write_stderr(notice_line(notice))

    def _delta(self, delta: Delta, ctx: Any = None) -> None:
        if delta.kind == "waiting" and is_chat(ctx):
            _write_stderr(delta.text)

    def _calls(self, response: ModelResponse, ctx: Any = None) -> None:
        if is_followed(ctx):
            for call in response.message.tool_calls:
                _write_stderr(f"· {call_line(call)}")

    def _result(self, result: ToolResult, ctx: Any = None) -> None:
        if is_followed(ctx):
            rows, _ = result_rows(result, LINE_COLUMNS, self._limits)
            _write_stderr(unstyled("\n".join(rows)))


def _write_stderr(text: str) -> None:
    shown = literal(text)
    if sys.stderr.isatty():
        shown = hanging(shown, window_width(), "")
    sys.stderr.write(shown + "\n")
    sys.stderr.flush()


async def stdin_lines() -> AsyncIterator[str]:
    """Yield the lines of stdin; undecodable bytes become U+FFFD.

    A thread reads, since an event loop cannot wait for a file. It bypasses Python's buffer, whose
    lock would block the end of the process during a read.
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
        # The event loop ended while this thread was reading.
        return
