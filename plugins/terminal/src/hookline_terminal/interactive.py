"""Chat on a terminal: an input line that stays usable while the answer grows above it.

The input loop is the only one that reads keys. A question ends its prompt, keeps the draft, is
asked, and the prompt comes back with the draft.
"""

from __future__ import annotations

import asyncio
import shutil
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from hookline_hookspecs import Delta, Host, ModelResponse, Notice, Question, Reply, ToolResult, Turn
from hookline_markdown import Answer, as_written, literal, one_line, readable, render
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.patch_stdout import patch_stdout

from .activity import attachment_line, call_line, is_chat, is_followed, notice_line, result_line
from .asking import Draft, answer_line, ask
from .config import TerminalConfig
from .conversation import LEAVE, RESUME, Conversation
from .folding import Typed
from .input_line import PAUSED, Around, InputLine
from .own_commands import OwnCommands, own_completer
from .question_text import question_text
from .screen import Screen

LEAVING = 5.0
"""Seconds that a turn has to stop when the person leaves."""
DIM, BOLD, RED, YELLOW, PLAIN = "\x1b[2m", "\x1b[1m", "\x1b[31m", "\x1b[33m", "\x1b[0m"
GREETING = "? shows the keys, /help the commands, Ctrl-D ends the chat."


class Interactive:
    """The person at the keyboard. Everything happens in the event loop's thread."""

    def __init__(self, host: Host, config: TerminalConfig, conversation: Conversation) -> None:
        self._host = host
        self._config = config
        self._conversation = conversation
        self._screen = Screen(sys.stdout)
        self._answer = Answer()
        self._doing = ""
        self._questions: deque[tuple[Question, asyncio.Future[str | None]]] = deque()
        self._own = OwnCommands(host, conversation, self._say)
        self._input = InputLine(
            host.paths, host.storage.dir, self._around(), own_completer(host, conversation)
        )
        self._render = render if config.markdown else as_written
        self._stopped: set[str] = set()
        """Messages whose turns were told to stop; a second Ctrl-C is not for them."""
        self._tasks: set[asyncio.Task[Any]] = set()
        self._held: deque[Callable[[], None]] = deque()
        """What the running turn has shown while the reply of the one before it was on its way."""
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(errors="replace")

    @property
    def receivers(self) -> dict[str, Any]:
        """What it shows."""
        shown: dict[str, Callable[..., None]] = {
            "start_of_turn": self._started,
            "delta": self._delta,
            "post_model": self._responded,
            "post_tool": self._result,
            "notice": self._notice,
        }
        told = {signal: self._in_order(receiver) for signal, receiver in shown.items()}
        return {**told, "settled": self._catch_up}

    def _around(self) -> Around:
        return Around(
            above=self._above,
            status=self._status,
            interrupt=self._interrupt,
            expand=self._expand,
            say=partial(self._say, style=YELLOW),
            next_mode=self._own.next_mode,
            show_keys=self._own.show_keys,
            held=self._screen.held,
        )

    def _in_order(self, receiver: Callable[..., None]) -> Callable[..., None]:
        """The receiver, called when all that was said before is on the screen.

        A reply leaves when its turn has ended, and by then the next turn may have begun.
        """

        def receive(event: object, ctx: Any = None) -> None:
            self._held.append(partial(receiver, event, ctx=ctx))
            self._catch_up()

        return receive

    def _catch_up(self, _event: object = None, ctx: Any = None) -> None:
        while self._held and not self._conversation.is_behind:
            self._held.popleft()()

    # The input loop

    async def run(self) -> None:
        """Read and send until the person leaves."""
        self._say(GREETING, DIM)
        await self._recall()
        # Raw all the time, so that no key is lost between two prompts.
        with patch_stdout(raw=True), self._interrupts_told(), self._input.app.input.raw_mode():
            while True:
                if self._questions:
                    await self._ask_next()
                    continue
                self._screen.app = self._input.app
                typed = await self._input.read()
                self._screen.app = None
                if typed is PAUSED:
                    continue
                if typed is None or typed.text.strip().casefold() in LEAVE:
                    break
                if typed.text.strip().casefold() == RESUME:
                    typed = await self._picked()
                if typed.text.strip():
                    self._screen.write(f"{BOLD}› {_echo(typed.shown)}{PLAIN}")
                    if not self._own.take(typed.text):
                        await self._conversation.say(typed.text, typed.attachments)
            await self._leave()

    @contextmanager
    def _interrupts_told(self) -> Iterator[None]:
        """Ctrl-C is a key here; a SIGINT that comes from elsewhere means the same."""
        loop = asyncio.get_running_loop()
        with suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(signal.SIGINT, self._interrupt)
        try:
            yield
        finally:
            with suppress(NotImplementedError, RuntimeError, ValueError):
                loop.remove_signal_handler(signal.SIGINT)

    def _interrupt(self) -> bool:
        """Stop the running command or turn; False if there is none."""
        if self._input.is_editing or self._own.stop():
            return True
        if not self._conversation.turns - self._stopped:
            return False
        self._stopped |= self._conversation.turns
        task = asyncio.get_running_loop().create_task(self._conversation.say("/stop"))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True

    async def _leave(self) -> None:
        """A running turn is stopped, so that its history is whole."""
        await self._own.close()
        talk = self._conversation
        if not talk.turns:
            return
        await talk.say("/stop")
        with suppress(TimeoutError):
            async with asyncio.timeout(LEAVING):
                while talk.turns:
                    talk.changed.clear()
                    await talk.changed.wait()

    # Earlier sessions

    async def _picked(self) -> Typed:
        """The command for the session that the person chooses; empty for none."""
        from .past import past_sessions, recap
        from .picker import pick

        def running(app: Any) -> None:
            self._screen.app = app

        found = await past_sessions(self._host)
        if not found:
            self._say("There is no session to resume yet.", DIM)
            return Typed("", "")
        try:
            chosen = await pick(found, partial(recap, self._host), running)
        finally:
            self._screen.app = None
        line = f"{RESUME} {chosen}" if chosen else ""
        return Typed(line, line)

    async def _recall(self) -> None:
        """Show what was said last in the session that was gone back to."""
        session, self._conversation.resumed = self._conversation.resumed, None
        if session is not None:
            from .past import recap

            lines = await recap(self._host, session, _width())
            self._say("\n".join(lines), DIM)

    # Questions

    async def ask(self, question: Question) -> str | None:
        """Put a question in line and wait for its answer."""
        future: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._questions.append((question, future))
        self._input.pause()
        return await future

    async def _ask_next(self) -> None:
        question, future = self._questions.popleft()
        if future.done():
            return
        self._commit_tail()
        self._screen.write(question_text(question))
        line = self._input.draft
        draft = Draft(line.text_before_cursor)

        def running(app: Any) -> None:
            self._screen.app = app
            # Core gives up after a while, or the turn is stopped: then nobody waits any more.
            future.add_done_callback(lambda _done: _end(app))

        try:
            answer = await ask(question, draft, running=running)
        except BaseException:
            future.cancel()
            raise
        finally:
            self._screen.app = None
            self._input.draft = Document(draft.text + line.text_after_cursor, len(draft.text))
        if future.done():
            self._say("  → nobody waits for an answer any more", DIM)
        else:
            future.set_result(answer)
            self._say(answer_line(answer), DIM)

    # What comes out

    def show(self, reply: Reply) -> None:
        """Show what of a reply was not streamed."""
        talk = self._conversation
        if talk.ends_turn(reply):
            self._commit_tail()
            text, self._doing = self._answer.left_of(reply.text), ""
        else:
            text = reply.text
        if not talk.ours(reply):
            self._say(f"From session {literal(reply.session.id)}:", DIM)
        if talk.failed(reply):
            self._say(literal(text), RED)
        elif text.strip():
            self._screen.write(self._rendered(text))
        for item in reply.attachments:
            self._say(attachment_line(item), PLAIN)
        talk.answered(reply)
        self._catch_up()
        self._screen.redraw()
        if talk.resumed is not None:
            self._host.spawn(self._recall(), "show what was said last")

    def _started(self, turn: Turn, ctx: Any = None) -> None:
        if is_chat(ctx):
            self._answer.begin()
            self._doing = "thinking"
            self._screen.redraw()

    def _delta(self, delta: Delta, ctx: Any = None) -> None:
        if not is_chat(ctx):
            return
        if delta.kind == "text":
            for block in self._answer.grow(delta.text):
                self._screen.write(self._rendered(block))
        self._screen.redraw()

    def _responded(self, response: ModelResponse, ctx: Any = None) -> None:
        if is_chat(ctx):
            self._commit_tail()
        if is_followed(ctx):
            calls = [call_line(call) for call in response.message.tool_calls]
            self._doing = "\n".join(calls) or "thinking"
            self._screen.redraw()

    def _result(self, result: ToolResult, ctx: Any = None) -> None:
        if not is_followed(ctx):
            return
        if self._config.tool_lines:
            self._say(result_line(result), DIM if result.ok else RED)
        self._doing = "thinking"

    def _notice(self, notice: Notice, ctx: Any = None) -> None:
        if ctx is None or is_followed(ctx):
            self._say(notice_line(notice), YELLOW)

    def _commit_tail(self) -> None:
        tail = self._answer.commit()
        if tail.strip():
            self._screen.write(self._rendered(tail))

    def _rendered(self, text: str) -> str:
        # A blank line after it sets paragraphs apart.
        return self._render(readable(text), _width()) + "\n"

    def _say(self, text: str, style: str) -> None:
        self._screen.write(f"{style}{text}{PLAIN}")

    def _above(self) -> StyleAndTextTuples:
        """What stands above the input line: the growing paragraph, and what is going on."""
        lines = self._answer.tail_lines(_width(), self._config.live_lines)
        shown: StyleAndTextTuples = [("", f"{line}\n") for line in lines]
        if self._conversation.turns and not lines:
            for line in self._doing.split("\n")[: self._config.live_lines]:
                shown.append(("fg:ansibrightblack", f"… {one_line(line, _width() - 4)}\n"))
        return shown

    def _status(self) -> StyleAndTextTuples:
        """What stands below the input line."""
        return []

    def _expand(self) -> None:
        """Show all of what was folded last."""


def _end(app: Any) -> None:
    if app.is_running and not app.future.done():
        app.exit(exception=EOFError)


def _width() -> int:
    return max(20, shutil.get_terminal_size().columns)


def _echo(text: str) -> str:
    return "\n  ".join(literal(line) for line in text.split("\n"))
