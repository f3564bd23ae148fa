"""The chat above the input line: permanent text, and rows that change.

Connected to the signals of a turn: answers, tool calls, notices.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
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
from hookline_markdown import (
    GUTTER,
    fitted,
    hanging,
    indented,
    literal,
    readable,
    render,
    window_width,
)
from prompt_toolkit.formatted_text import StyleAndTextTuples

from .activity import (
    attachment_line,
    call_line,
    format_duration,
    is_chat,
    is_confirmation,
    is_followed,
    notice_line,
    refused_tool,
    sub_agent,
)
from .command_replies import command_reply
from .config import TerminalConfig
from .conversation import TerminalConversation
from .job_lines import POLL_SECONDS, JobLines
from .live_area import LiveArea
from .progress import FRAME_SECONDS
from .screen import TerminalScreen
from .status_line import StatusLine
from .styles import BOLD, DIM, RED, YELLOW, styled
from .tool_results import FoldedResults, FoldLimits, full_result_rows, result_rows

ANSWER_RESTARTS = "The connection broke; the answer starts again."
TEXT_REPEATS = "The text above will be repeated."


class Transcript:
    """Writes the conversation above the input line. Used in the event loop's thread only.

    ``turn_ended`` is called with the seconds that a turn took. Without ``keys`` there is no input
    line, and hints name no key but Ctrl-C.
    """

    def __init__(
        self,
        host: Host,
        config: TerminalConfig,
        conversation: TerminalConversation,
        screen: TerminalScreen,
        turn_ended: Callable[[float], None],
        *,
        keys: bool = True,
    ) -> None:
        self._turn_ended = turn_ended
        self._turn_started = 0.0
        self._config = config
        self._conversation = conversation
        self._screen = screen
        self._is_plain = config.is_plain(host.env)
        self._live = LiveArea(config.live_lines, keys=keys, hidden=self._is_plain)
        items = () if self._is_plain else config.status
        self._status = StatusLine(host, conversation.session, items)
        self._folded = FoldedResults()
        self._jobs = JobLines(host, self._job_ended)
        self._is_following_jobs = False
        limits = FoldLimits(config.diff_lines, config.output_lines, plain=self._is_plain)
        self._limits = limits if keys else replace(limits, hint="")
        # Rendered Markdown has boxes, which a screen reader spells out.
        self._render = render if config.markdown and not self._is_plain else fitted
        self.last_answer = ""
        """The last answer, as the model wrote it."""
        self.is_asking = False
        """Whether a question is on the screen."""
        self._tasks: set[asyncio.Task[Any]] = set()
        self._deferred: deque[Callable[[], None]] = deque()
        """Events of the running turn that wait for the reply of the turn before it."""

    @property
    def receivers(self) -> dict[str, Any]:
        """The receivers to connect, by signal."""
        shown: dict[str, Callable[..., None]] = {
            "start_of_turn": self._on_start_of_turn,
            "delta": self._on_delta,
            "post_model": self._on_response,
            "pre_tool": self._on_tool_call,
            "post_tool": self._on_tool_result,
            "notice": self._on_notice,
            "compacted": self._on_compacted,
        }
        ordered = {signal: self._in_order(receiver) for signal, receiver in shown.items()}
        return {**ordered, "on_message": self._on_message, "settled": self._on_settled}

    def _in_order(self, receiver: Callable[..., None]) -> Callable[..., None]:
        """Wrap a receiver so that it runs after earlier replies are on the screen.

        A reply is sent when its turn has ended, and the next turn may have begun by then.
        """

        def receive(event: object, ctx: Any = None) -> None:
            self._deferred.append(partial(receiver, event, ctx=ctx))
            self._run_deferred()

        return receive

    def _run_deferred(self) -> None:
        while self._deferred and not self._conversation.is_behind:
            self._deferred.popleft()()

    # For the input loop

    def rows(self) -> StyleAndTextTuples:
        """Return the changing rows above the input line."""
        width = window_width()
        jobs = [] if self._is_plain else self._jobs.lines(width)
        return [*self._live.rows(width), *(("class:dim", f"{line}\n") for line in jobs)]

    def status(self) -> StyleAndTextTuples:
        """Return the status line below it."""
        return self._status.line(window_width())

    def spent_here(self) -> str:
        """Return what the session cost in this process; empty for nothing."""
        return self._status.spent_here()

    def typed(self, message_id: str, text: str) -> None:
        """Show a message that was sent; as queued while another has no answer yet."""
        if self._conversation.open:
            self._live.queued.add(message_id, text)
            self._announce(f"Queued: {text}")
        else:
            self.echo(text)

    def write(self, text: str, *styles: str) -> None:
        """Write lines of the program itself."""
        self._screen.write(styled(text, *styles))

    def commit_tail(self) -> None:
        """Write the growing paragraph as it is."""
        tail = self._live.answer.commit()
        if tail.strip():
            self._screen.write(self._rendered(tail))

    def restart_clocks(self) -> None:
        """Restart the shown times after a question: waiting for the person does not count."""
        self.is_asking = False
        self._live.progress.restart_clocks()

    def expand(self) -> None:
        """Show all of the last folded result; when called again, of the one before it."""
        result = self._folded.pop()
        if result is None:
            self.write("Nothing is folded.", DIM)
        else:
            self._screen.write("\n".join(full_result_rows(result, window_width())))

    def refresh(self) -> None:
        """Update the status line."""
        self._spawn(self._refresh())

    # Replies and signals

    def show(self, reply: Reply) -> None:
        """Show the part of a reply that was not streamed."""
        talk = self._conversation
        self._echo_queued(reply.in_reply_to)
        text = reply.text
        is_answer = not talk.is_own_reply(reply)
        if talk.ends_turn(reply):
            self._end_thinking()
            self.commit_tail()
            if reply.kind != "question":
                self._show_stopped_calls()
            self._turn_ended(time.monotonic() - self._turn_started)
            self.last_answer = text or self.last_answer
            text = self._live.answer.unstreamed_part(text)
            is_answer = True
            self._live.end()
        if talk.is_of_other_session(reply) and (text.strip() or reply.attachments):
            self.write(_hanging(f"From session {reply.session.id}:", first=""), DIM)
        if talk.is_failure(reply):
            self.write(_hanging(text), RED)
        elif text.strip():
            # The output of a command is not Markdown: its lines and columns stay.
            printed = command_reply(text, window_width())
            self._screen.write(self._rendered(text) if is_answer else printed)
        for item in reply.attachments:
            self.write(_hanging(attachment_line(item), first=""))
        talk.mark_answered(reply)
        self._run_deferred()
        self.refresh()
        self._screen.redraw()

    def _show_stopped_calls(self) -> None:
        """Leave a line for each call that the turn ended without a result of."""
        for call, seconds in self._live.progress.stopped_calls():
            tail = f" · stopped after {format_duration(seconds, whole=True)}"
            room = max(12, window_width() - len(tail) - 3)
            self.write(f"✗ {call_line(call, room)}{tail}", DIM)

    def _on_message(self, inbound: Inbound, ctx: Any = None) -> None:
        if self._conversation.is_own_message(inbound):
            self._status.set_session(ctx)
            if ":" in inbound.message_id:  # made by `/queue`
                self._live.queued.add(inbound.message_id, inbound.text)

    def _on_settled(self, inbound: Inbound, ctx: Any = None) -> None:
        self._echo_queued(inbound.message_id)
        if not self._conversation.turns:
            self._live.end()
        self._run_deferred()
        self._screen.redraw()

    def _on_start_of_turn(self, turn: Turn, ctx: Any = None) -> None:
        if is_chat(ctx):
            self._echo_queued(turn.inbound.message_id)
            self._status.set_session(ctx)
            self._turn_started = time.monotonic()
            self._live.answer.begin()
            self._live.progress.start()
            self._announce("Working.")
            self._spawn(self._spin())
            self.refresh()
        elif (agent := sub_agent(ctx)) is not None:
            self._live.progress.sub_agents.start(agent, turn.inbound.text)

    def _echo_queued(self, message_id: str | None) -> None:
        text = self._live.queued.take(message_id)
        if text is not None:
            self.echo(text)

    def _on_delta(self, delta: Delta, ctx: Any = None) -> None:
        if not is_chat(ctx):
            return
        live = self._live
        match delta.kind:
            case "text":
                self._end_thinking()
                live.progress.set_answering()
                for block in live.answer.grow(delta.text):
                    self._screen.write(self._rendered(block))
            case "thinking":
                live.progress.add_thought(delta.text)
            case "waiting":
                live.progress.set_waiting(delta.text, delta.wait)
                self._announce(f"Waiting: {live.progress.phase_text()}")
            case "restart":
                self._restart()
        self._screen.redraw()

    def _restart(self) -> None:
        has_text = self._live.answer.is_open
        self._live.progress.take_thinking_time()
        self.commit_tail()
        sentence = f"{ANSWER_RESTARTS} {TEXT_REPEATS}" if has_text else ANSWER_RESTARTS
        self.write(_hanging(sentence, first=""), DIM)
        self._live.progress.start()

    def _end_thinking(self) -> None:
        seconds = self._live.progress.take_thinking_time()
        if seconds is not None:
            self.write(f"thought for {format_duration(seconds, whole=True)}", DIM)

    def _on_response(self, response: ModelResponse, ctx: Any = None) -> None:
        if is_chat(ctx):
            self._end_thinking()
            self.commit_tail()
            self._status.set_context_size(response)
        if is_followed(ctx):
            self._status.add_cost(response.model, response.usage)
            if is_chat(ctx):
                self._live.progress.add_calls(response.message.tool_calls)
            self._screen.redraw()

    def _on_tool_call(self, call: ToolCall, ctx: Any = None) -> None:
        if (agent := sub_agent(ctx)) is not None:
            self._live.progress.sub_agents.start_call(agent, call)
        elif is_followed(ctx):
            self._live.progress.start_call(call)
            self._announce(f"Running {call_line(call, window_width())}")

    def _on_tool_result(self, result: ToolResult, ctx: Any = None) -> None:
        if not is_followed(ctx):
            return
        agent = sub_agent(ctx)
        if agent is not None:
            self._live.progress.sub_agents.end_call(agent, result.call)
        else:
            self._live.progress.end_call(result.call)
        if not self._is_following_jobs:
            self._spawn(self._follow_jobs())
        data = result.data if result.shown and isinstance(result.data, Mapping) else {}
        if "board" in data and is_chat(ctx):
            self._live.board = result.shown
        rows, is_more = result_rows(result, window_width(), self._limits)
        if self._config.tool_lines and not isinstance(result.data, Question):
            self._screen.write("\n".join(rows))  # a question is shown when the turn ends with it
        if is_more:
            self._folded.append(result)

    def _on_notice(self, notice: Notice, ctx: Any = None) -> None:
        if self._config.tool_lines and refused_tool(notice):
            return  # shown by the line of the tool's result
        if ctx is None or is_followed(ctx):
            self.notice(notice)

    def notice(self, notice: Notice) -> None:
        """Show a notice."""
        good = is_confirmation(notice)
        line = notice.text if good else notice_line(notice)
        self.write(_hanging(line, first=""), DIM if good else YELLOW)

    def _on_compacted(self, _event: object, ctx: Any = None) -> None:
        if is_chat(ctx):
            self._status.reset_context_size()

    def _rendered(self, text: str) -> str:
        # A blank line after it sets paragraphs apart.
        width = window_width()
        return indented(self._render(readable(text), width - len(GUTTER)), width) + "\n"

    def echo(self, text: str) -> None:
        """Show a message of the person."""
        self.write(_hanging(text, first="You: " if self._is_plain else "› "), BOLD)

    def _announce(self, text: str) -> None:
        """Write for a screen reader, once, what others see in the changing rows."""
        if self._is_plain:
            self.write(_hanging(text, first=""))

    # Background work

    async def _spin(self) -> None:
        while self._conversation.turns:
            if not self.is_asking and not self._is_plain:  # a question has no spinner
                self._screen.redraw()
            await asyncio.sleep(FRAME_SECONDS)

    async def _follow_jobs(self) -> None:
        """Follow background jobs until none runs."""
        self._is_following_jobs = True
        try:
            while (session := self._status.session) and await self._jobs.poll(session):
                self._screen.redraw()
                await asyncio.sleep(POLL_SECONDS)
        finally:
            self._is_following_jobs = False
        self.refresh()

    def _job_ended(self, line: str) -> None:
        self.write(_hanging(line, first=""), DIM)

    async def _refresh(self) -> None:
        await self._status.refresh()
        self._screen.redraw()

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _hanging(text: str, first: str = GUTTER) -> str:
    """Return text of outside, wrapped; only ``first`` can stand in the first column."""
    return hanging(literal(text), window_width(), first)
