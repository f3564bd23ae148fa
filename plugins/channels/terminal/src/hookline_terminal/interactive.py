"""Chat on a terminal: an input line that stays usable while the answer grows above it.

The input loop is the only one that reads keys. A question ends its prompt, keeps the draft, is
asked, and the prompt comes back with the draft.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import textwrap
import uuid
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any

from hookline_hookspecs import HooklineError, Host, Question, Reply
from hookline_markdown import fitted, literal, window_width
from prompt_toolkit.document import Document
from prompt_toolkit.patch_stdout import patch_stdout

from .asking import Draft, answer_line, ask
from .config import TerminalConfig
from .conversation import LEAVE, RESUME, Conversation
from .copying import COPY, chosen, copy
from .feed import Feed
from .folding import Typed
from .input_line import PAUSED, Around, InputLine
from .own_commands import OwnCommands, own_completer
from .paint import DIM, YELLOW
from .question_text import choices_text, question_text, with_other
from .screen import Screen

LEAVING = 5.0
"""Seconds that a turn has to stop when the person leaves."""
EXPAND = "/expand"
"""Answered here, like the key Ctrl-O."""
GREETING = "? shows the keys, /help the commands, Ctrl-D ends the chat."


class Interactive:
    """The person at the keyboard. Everything happens in the event loop's thread."""

    def __init__(self, host: Host, config: TerminalConfig, conversation: Conversation) -> None:
        self._host = host
        self._conversation = conversation
        self._screen = Screen(sys.stdout)
        self._feed = Feed(host, config, conversation, self._screen)
        self._say = self._feed.write
        self._questions: deque[tuple[Question, asyncio.Future[str | None]]] = deque()
        self._own = OwnCommands(host, conversation, self._say, self._feed.refresh)
        self._input = InputLine(
            host.paths, host.storage.dir, self._around(), own_completer(host, conversation)
        )
        self._open: Question | None = None
        """The question that the last turn has ended with, until it is asked."""
        self._stopped: set[str] = set()
        """Messages whose turns were told to stop; a second Ctrl-C is not for them."""
        self._stops: set[str] = set()
        """Messages ``/stop`` that Ctrl-C has sent; nobody wrote them."""
        self._tasks: set[asyncio.Task[Any]] = set()
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(errors="replace")

    @property
    def receivers(self) -> dict[str, Any]:
        """What it shows."""
        return self._feed.receivers

    @property
    def spent(self) -> str:
        """What was spent here, in words; empty for nothing."""
        return self._feed.spent_here()

    def show(self, reply: Reply) -> None:
        """Show what of a reply was not streamed; ask what a turn has ended with."""
        if reply.in_reply_to in self._stops:
            self._conversation.answered(reply)  # the end of the turn says it
            return
        question = self._conversation.asked(reply)
        self._feed.show(replace(reply, text="") if question is not None else reply)
        if question is not None:
            self._open = question
            self._input.pause()
        if self._conversation.resumed is not None:
            self._host.spawn(self._recall(), "show what was said last")

    def _tell(self, sentence: str) -> None:
        """Show a sentence about the line."""
        self._say(textwrap.fill(literal(sentence), window_width() - 1), YELLOW)

    def _around(self) -> Around:
        return Around(
            above=self._feed.rows,
            status=self._feed.status,
            interrupt=self._interrupt,
            expand=self._feed.expand,
            say=self._tell,
            next_mode=self._own.next_mode,
            show_keys=self._own.show_keys,
            held=self._screen.held,
        )

    # The input loop

    async def run(self) -> None:
        """Read and send until the person leaves."""
        # Raw all the time, so that no key is lost between two prompts.
        with patch_stdout(raw=True), self._interrupts_told(), self._input.app.input.raw_mode():
            self._input.take_typed_ahead()
            self._say(fitted(GREETING, window_width()).rstrip("\n"), DIM)
            self._feed.refresh()
            await self._recall()
            while True:
                if self._questions:
                    await self._ask_next()
                    continue
                if self._open is not None:
                    await self._ask_open()
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
                    await self._send(typed)
            await self._leave()

    async def _send(self, typed: Typed) -> None:
        first, _, rest = typed.text.strip().partition(" ")
        if typed.text.strip().casefold() == EXPAND:
            self._feed.expand()
        elif first.casefold() == COPY:
            await self._copy(rest)
        elif self._own.wants(typed.text):
            self._feed.echo(typed.shown)
            self._own.take(typed.text)
        else:
            message_id = uuid.uuid4().hex
            self._feed.typed(message_id, typed.shown)
            try:
                await self._conversation.say(typed.text, typed.attachments, message_id)
            except HooklineError as error:  # it is not stored: a full disk, a database in use
                self._conversation.unsent(message_id)
                self._tell(str(error))
                self._input.draft = Document(typed.shown, len(typed.shown))

    async def _copy(self, asked: str) -> None:
        text = chosen(self._feed.last_answer, asked)
        if not text:
            self._say("There is nothing to copy yet." if text == "" else "It has no code.", DIM)
        elif await asyncio.to_thread(copy, text, self._host.env, self._screen.send):
            self._say(f"Copied {len(text):,} characters.", DIM)
        else:
            self._tell("The answer is too long for this terminal; /export writes it to a file.")

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
        message_id = uuid.uuid4().hex
        self._stops.add(message_id)
        stop = self._conversation.say("/stop", message_id=message_id)
        task = asyncio.get_running_loop().create_task(stop)
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
            from .past import open_question, recap

            lines = await recap(self._host, session, window_width())
            self._say("\n".join(lines), DIM)
            self._open = await open_question(self._host, session)
            if self._open is not None:
                self._input.pause()

    # Questions

    async def ask(self, question: Question) -> str | None:
        """Put a question in line and wait for its answer."""
        future: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._questions.append((question, future))
        self._input.pause()
        return await future

    async def _ask_open(self) -> None:
        """Ask what a turn has ended with; the answer is the person's next message."""
        question, self._open = self._open, None
        if question is None or self._conversation.open:
            return  # what was sent meanwhile is the answer
        answer = await self._put(with_other(question), lambda _app: None, own_words=True)
        if answer is None:
            self._say(choices_text(question, window_width()))
            self._say("Write your answer, or the number of a choice.", DIM)
        else:
            await self._send(Typed(answer, answer))

    async def _ask_next(self) -> None:
        question, future = self._questions.popleft()
        if future.done():
            return

        def running(app: Any) -> None:
            # Core gives up after a while, or the turn is stopped: then nobody waits any more.
            future.add_done_callback(lambda _done: _end(app))

        try:
            answer = await self._put(question, running)
        except BaseException:
            future.cancel()
            raise
        if future.done():
            self._say("  → nobody waits for an answer any more", DIM)
        else:
            future.set_result(answer)
            self._say(answer_line(answer), DIM)

    async def _put(
        self, question: Question, began: Callable[[Any], None], *, own_words: bool = False
    ) -> str | None:
        """Show a question and wait for its answer; ``began`` is told the application that waits."""
        self._feed.commit_tail()
        self._feed.is_asking = True
        self._screen.write(question_text(question, window_width()))
        line = self._input.draft
        draft = Draft(line.text_before_cursor)

        def running(app: Any) -> None:
            self._screen.app = app
            began(app)

        try:
            return await ask(question, draft, running=running, own_words=own_words)
        finally:
            self._screen.app = None
            self._feed.goes_on()
            self._input.draft = Document(draft.text + line.text_after_cursor, len(draft.text))


def _end(app: Any) -> None:
    if app.is_running and not app.future.done():
        app.exit(exception=EOFError)
