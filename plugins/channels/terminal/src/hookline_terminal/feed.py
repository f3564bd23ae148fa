"""What comes out in a chat on a terminal: written for good above the line, or shown for now."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from hookline_hookspecs import (
    Delta,
    Host,
    Inbound,
    ModelResponse,
    Notice,
    Question,
    Reply,
    ToolCall,
    ToolResult,
    Turn,
)
from hookline_markdown import as_written, fitted, literal, readable, render, window_width
from prompt_toolkit.formatted_text import StyleAndTextTuples

from .activity import (
    attachment_line,
    is_chat,
    is_followed,
    is_good,
    lasted,
    notice_line,
    refusal_of,
)
from .config import TerminalConfig
from .conversation import Conversation
from .live import Live
from .paint import BOLD, DIM, RED, YELLOW, painted
from .progress import FRAME
from .results import Folds, Recent, told, whole
from .screen import Screen
from .status import Status

AGAIN = "The connection broke; the answer begins again."
REPEATED = "What stands above of it will be repeated."


class Feed:
    """Writes what is said above the input line. Everything happens in the event loop's thread."""

    def __init__(
        self, host: Host, config: TerminalConfig, conversation: Conversation, screen: Screen
    ) -> None:
        self._config = config
        self._conversation = conversation
        self._screen = screen
        self._live = Live(config.live_lines)
        self._status = Status(host, conversation.session)
        self._recent = Recent()
        self._folds = Folds(config.diff_lines, config.output_lines)
        self._render = render if config.markdown else as_written
        self.last_answer = ""
        """What was answered last, as it was written."""
        self.is_asking = False
        """Whether a question has the lines below."""
        self._tasks: set[asyncio.Task[Any]] = set()
        self._held: deque[Callable[[], None]] = deque()
        """What the running turn has shown while the reply of the one before it was on its way."""

    @property
    def receivers(self) -> dict[str, Any]:
        """What it shows."""
        shown: dict[str, Callable[..., None]] = {
            "start_of_turn": self._started,
            "delta": self._delta,
            "post_model": self._responded,
            "pre_tool": self._runs,
            "post_tool": self._result,
            "notice": self._notice,
            "compacted": self._compacted,
        }
        told = {signal: self._in_order(receiver) for signal, receiver in shown.items()}
        return {**told, "on_message": self._passed, "settled": self._settled}

    def _in_order(self, receiver: Callable[..., None]) -> Callable[..., None]:
        """The receiver, called when all that was said before is on the screen.

        A reply leaves when its turn has ended, and by then the next turn may have begun.
        """

        def receive(event: object, ctx: Any = None) -> None:
            self._held.append(partial(receiver, event, ctx=ctx))
            self._catch_up()

        return receive

    def _catch_up(self) -> None:
        while self._held and not self._conversation.is_behind:
            self._held.popleft()()

    # For the input loop

    def rows(self) -> StyleAndTextTuples:
        """What stands above the input line for now."""
        return self._live.rows(window_width())

    def status(self) -> StyleAndTextTuples:
        """What stands below it."""
        return self._status.line(window_width())

    def spent_here(self) -> str:
        """What the session cost in this process; empty if it cost nothing."""
        return self._status.spent_here()

    def typed(self, message_id: str, text: str) -> None:
        """A message was typed: shown for good, or as queued while another has no answer yet."""
        if self._conversation.open:
            self._live.queued.add(message_id, text)
        else:
            self.echo(text)

    def write(self, text: str, *styles: str) -> None:
        """Write lines of the program's own."""
        self._screen.write(painted(text, *styles))

    def commit_tail(self) -> None:
        """Write the growing paragraph for good."""
        tail = self._live.answer.commit()
        if tail.strip():
            self._screen.write(self._rendered(tail))

    def goes_on(self) -> None:
        """A question was answered; what follows takes its own time."""
        self.is_asking = False
        self._live.progress.goes_on()

    def expand(self) -> None:
        """Show all of the last result that was folded; the next time, of the one before it."""
        result = self._recent.next()
        if result is None:
            self.write("Nothing is folded.", DIM)
        else:
            self._screen.write("\n".join(whole(result, window_width())))

    def refresh(self) -> None:
        """Ask anew for what the status shows."""
        self._spawn(self._refresh())

    # What comes out

    def show(self, reply: Reply) -> None:
        """Show what of a reply was not streamed."""
        talk = self._conversation
        self._begin(reply.in_reply_to)
        text, answer = reply.text, not talk.ours(reply)
        if talk.ends_turn(reply):
            self._end_of_thoughts()
            self.commit_tail()
            self.last_answer = text or self.last_answer
            text, answer = self._live.answer.left_of(text), True
            self._live.end()
        if talk.elsewhere(reply) and (text.strip() or reply.attachments):
            self.write(f"From session {literal(reply.session.id)}:", DIM)
        if talk.failed(reply):
            self.write(_fitted(text), RED)
        elif text.strip():
            # What a command prints is no Markdown: its lines and columns stay.
            self._screen.write(self._rendered(text) if answer else self._printed(text))
        for item in reply.attachments:
            self.write(attachment_line(item))
        talk.answered(reply)
        self._catch_up()
        self.refresh()
        self._screen.redraw()

    def _passed(self, inbound: Inbound, ctx: Any = None) -> None:
        if self._conversation.made(inbound):
            self._status.talks_in(ctx)
            if ":" in inbound.message_id:  # `/queue` made it
                self._live.queued.add(inbound.message_id, inbound.text)

    def _settled(self, inbound: Inbound, ctx: Any = None) -> None:
        self._begin(inbound.message_id)
        if not self._conversation.turns:
            self._live.end()
        self._catch_up()
        self._screen.redraw()

    def _started(self, turn: Turn, ctx: Any = None) -> None:
        if is_chat(ctx):
            self._begin(turn.inbound.message_id)
            self._status.talks_in(ctx)
            self._live.answer.begin()
            self._live.progress.begin()
            self._spawn(self._spin())
            self.refresh()

    def _begin(self, message_id: str | None) -> None:
        text = self._live.queued.take(message_id)
        if text is not None:
            self.echo(text)

    def _delta(self, delta: Delta, ctx: Any = None) -> None:
        if not is_chat(ctx):
            return
        live = self._live
        match delta.kind:
            case "text":
                self._end_of_thoughts()
                live.progress.answers()
                for block in live.answer.grow(delta.text):
                    self._screen.write(self._rendered(block))
            case "thinking":
                live.progress.thinks(delta.text)
            case "waiting":
                live.progress.waits(delta.text)
            case "restart":
                self._restart()
        self._screen.redraw()

    def _restart(self) -> None:
        begun = self._live.answer.is_open
        self._live.progress.thought()
        self.commit_tail()
        self.write(_fitted(f"{AGAIN} {REPEATED}" if begun else AGAIN), DIM)
        self._live.progress.begin()

    def _end_of_thoughts(self) -> None:
        seconds = self._live.progress.thought()
        if seconds is not None:
            self.write(f"thought for {lasted(seconds, whole=True)}", DIM)

    def _responded(self, response: ModelResponse, ctx: Any = None) -> None:
        if is_chat(ctx):
            self._end_of_thoughts()
            self.commit_tail()
            self._status.filled(response)
        if is_followed(ctx):
            self._status.spent(response.model, response.usage)
            self._live.progress.calls(response.message.tool_calls)
            self._screen.redraw()

    def _runs(self, call: ToolCall, ctx: Any = None) -> None:
        if is_followed(ctx):
            self._live.progress.runs(call)

    def _result(self, result: ToolResult, ctx: Any = None) -> None:
        if not is_followed(ctx):
            return
        self._live.progress.ran(result.call)
        data = result.data if result.shown and isinstance(result.data, Mapping) else {}
        if "board" in data and is_chat(ctx):
            self._live.board = result.shown
        rows, is_more = told(result, window_width(), self._folds)
        if self._config.tool_lines and not isinstance(result.data, Question):
            self._screen.write("\n".join(rows))  # a question is shown when the turn ends with it
        if is_more:
            self._recent.add(result)

    def _notice(self, notice: Notice, ctx: Any = None) -> None:
        if self._config.tool_lines and refusal_of(notice):
            return  # the line of the tool's result says it
        if ctx is None or is_followed(ctx):
            good = is_good(notice)
            line = literal(notice.text) if good else notice_line(notice)
            self.write(_fitted(line), DIM if good else YELLOW)

    def _compacted(self, _event: object, ctx: Any = None) -> None:
        if is_chat(ctx):
            self._status.shortened()

    def _rendered(self, text: str) -> str:
        # A blank line after it sets paragraphs apart.
        return self._render(readable(text), window_width()) + "\n"

    def _printed(self, text: str) -> str:
        return fitted(readable(text), window_width()) + "\n"

    def echo(self, text: str) -> None:
        """Show what was typed."""
        self.write("› " + "\n  ".join(literal(line) for line in text.split("\n")), BOLD)

    # What happens beside

    async def _spin(self) -> None:
        while self._conversation.turns:
            if not self.is_asking:  # a question has no spinner
                self._screen.redraw()
            await asyncio.sleep(FRAME)

    async def _refresh(self) -> None:
        await self._status.refresh()
        self._screen.redraw()

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _fitted(text: str) -> str:
    return fitted(literal(text), window_width()).rstrip("\n")
