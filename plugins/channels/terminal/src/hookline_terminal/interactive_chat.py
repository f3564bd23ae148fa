"""Chat on a terminal: an input line that stays usable while the answer grows above it.

Only the input loop reads keys. A question pauses the prompt, is asked, and the prompt comes back
with its draft.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import uuid
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from hookline_hookspecs import (
    Conversations,
    GatewayHost,
    HooklineError,
    Host,
    Question,
    QuestionAnswer,
    Questions,
    Reply,
)
from hookline_markdown import fitted, hanging, literal, window_width
from prompt_toolkit.document import Document
from prompt_toolkit.patch_stdout import patch_stdout

from .activity import CHANNEL
from .chat_settings import ChatSettings
from .config import TerminalConfig
from .conversation import EXIT_COMMANDS, RESUME, TerminalConversation
from .copy_command import COPY, copy, text_to_copy
from .input_line import PAUSED, REWIND, InputLine, LineActions
from .local_commands import LocalCommands, chat_completer
from .notifications import TerminalNotifications
from .past_sessions import CHAT_ID
from .paste_labels import TypedMessage
from .question_prompt import Draft, answer_line, ask, closed_line
from .question_text import choices_text, question_text, with_other
from .screen import TerminalScreen
from .screen_programs import KILLED, LEAVE_SCREEN, TERMINAL_RESET, needs_terminal, run_on_terminal
from .styles import DIM, YELLOW
from .suspension import TerminalKeys
from .transcript import Transcript

STOP_TIMEOUT = 5.0
"""Seconds that a turn has to stop when the person leaves."""
CUT_TURN = "cut-turn/"
"""Key in the plugin's storage: whether the last turn of a session ended with its chat."""
TURN_WAS_CUT = "The last turn was cut off when its chat was closed. /retry runs it again."
TURN_GOES_ON = "The last turn was interrupted and goes on; /retry runs it again."
EXPAND = "/expand"
"""Handled here, like Ctrl-O."""
_AnswerFuture: TypeAlias = "asyncio.Future[str | QuestionAnswer | None]"
GREETING = "? shows the keys, /help the commands, Ctrl-D ends the chat."


class InteractiveChat:
    """The chat with a person at the keyboard. Used in the event loop's thread only."""

    def __init__(
        self, host: Host, config: TerminalConfig, conversation: TerminalConversation
    ) -> None:
        self._host = host
        self._conversation = conversation
        self._screen = TerminalScreen(sys.stdout)
        self._notifications = TerminalNotifications(
            self._screen.send,
            host.env,
            enabled=config.notify,
            long_turn_seconds=config.notify_seconds,
        )
        self._is_plain = config.is_plain(host.env)
        self._terminal = TerminalKeys(
            terminal_event=self._notifications.terminal_event, stopped=self._notifications.paused
        )
        self._transcript = Transcript(host, config, conversation, self._screen, self._turn_ended)
        self._say = self._transcript.write
        self._questions: deque[tuple[Question, _AnswerFuture]] = deque()
        self._local = LocalCommands(
            host, conversation, self._say, self._transcript.refresh, self._screen.redraw
        )
        self._input = InputLine(
            host.paths,
            host.storage.dir,
            self._actions(),
            chat_completer(host, conversation),
            plain=self._is_plain,
        )
        self._settings = ChatSettings(host, config, self._input, self._screen.send)
        self._open: Question | None = None
        """The question that the last turn ended with, until it is asked."""
        self._stopped: set[str] = set()
        """Ids of messages whose turns were stopped; a second Ctrl-C does not apply to them."""
        self._stops: set[str] = set()
        """Ids of the ``/stop`` messages that Ctrl-C has sent."""
        self._is_question_shown = False
        """Also after the chat was closed in the middle of a question."""
        self._tasks: set[asyncio.Task[Any]] = set()
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(errors="replace")

    @property
    def receivers(self) -> dict[str, Any]:
        """The receivers to connect, by signal."""
        return self._transcript.receivers

    @property
    def spent(self) -> str:
        """What the chat cost, for people; empty for nothing."""
        return self._transcript.spent_here()

    def show(self, reply: Reply) -> None:
        """Show the part of a reply that was not streamed; ask the question it may end with."""
        if reply.in_reply_to in self._stops:
            self._conversation.mark_answered(reply)  # the reply of the stopped turn is enough
            return
        question = self._conversation.open_question(reply)
        if question is not None:
            self._open = question
            reply = replace(reply, text="")
        self._transcript.show(reply)
        if question is not None:
            self._input.pause()
        if self._conversation.resumed is not None:
            self._host.spawn(self._show_recap(), "show the last messages")

    def _turn_ended(self, seconds: float) -> None:
        if self._open is None:  # a question notifies when it is shown
            self._notifications.turn_ended(seconds)

    @contextmanager
    def _other_program(self) -> Iterator[None]:
        """Leave screen and keyboard to another program."""
        with self._screen.held(), self._notifications.paused():
            yield

    def _can_rewind(self) -> bool:
        commands = self._host.services[Conversations].commands()
        return any(command.name == REWIND for command in commands)

    def _warn(self, sentence: str) -> None:
        """Show a sentence about the input line."""
        self._say(hanging(literal(sentence), window_width(), ""), YELLOW)

    def _actions(self) -> LineActions:
        return LineActions(
            above=lambda: [*self._transcript.rows(), *self._local.rows(window_width())],
            status=self._transcript.status,
            interrupt=self._interrupt,
            can_rewind=self._can_rewind,
            expand=self._transcript.expand,
            say=self._warn,
            next_mode=self._local.next_mode,
            show_keys=self._local.show_keys,
            held=self._other_program,
            terminal=self._terminal,
        )

    # The input loop

    async def run(self) -> None:
        """Read and send messages until the person leaves."""
        # Raw all the time, so that no key is lost between two prompts.
        with patch_stdout(raw=True), self._signals_handled(), self._input.app.input.raw_mode():
            self._input.take_typed_ahead()
            self._settings.restore()
            with self._notifications.reporting():
                self._say(fitted(GREETING, window_width()).rstrip("\n"), DIM)
                self._transcript.refresh()
                await self._show_recap()
                await self._read_messages()
            await self.leave()

    async def _read_messages(self) -> None:
        while True:
            if self._questions:
                await self._ask_next()
                continue
            if self._open is not None:
                await self._ask_open_question()
                continue
            self._screen.app = self._input.app
            typed = await self._input.read()
            self._screen.app = None
            if typed is PAUSED:
                continue
            if typed is None or typed.text.strip().casefold() in EXIT_COMMANDS:
                return
            if typed.text.strip().casefold() == RESUME and not self._is_plain:
                typed = await self._pick_session()
            if typed.text.strip():
                await self._send(typed)

    async def _send(self, typed: TypedMessage) -> None:
        first, _, rest = typed.text.strip().partition(" ")
        if typed.text.strip().casefold() == EXPAND:
            self._transcript.expand()
        elif first.casefold() == COPY:
            await self._copy(rest)
        elif self._settings.handles(typed.text):
            self._transcript.echo(typed.shown)
            if said := await self._settings.run(typed.text):
                self._say(hanging(said, window_width()), DIM)
        elif self._local.handles(typed.text):
            self._transcript.echo(typed.shown)
            command = typed.text.strip()[1:].strip()
            if needs_terminal(command):
                await self._run_on_terminal(command)
            else:
                self._local.run(typed.text)
        else:
            message_id = uuid.uuid4().hex
            self._transcript.typed(message_id, typed.shown)
            try:
                await self._conversation.say(typed.text, typed.attachments, message_id)
            except HooklineError as error:  # not stored: a full disk, a locked database
                self._conversation.discard(message_id)
                self._warn(str(error))
                self._input.draft = Document(typed.shown, len(typed.shown))

    async def _run_on_terminal(self, command: str) -> None:
        """Give the terminal to a program of the person until it ends."""
        try:
            with self._input.lent():
                code = await run_on_terminal(command, self._host.paths.workspace)
        except OSError as error:
            self._warn(f"The shell could not be started: {error.strerror}.")
            return
        killed = code > KILLED
        self._screen.send(TERMINAL_RESET + (LEAVE_SCREEN if killed else ""))
        ended = f"exit code {code}, " if code else ""
        self._say(f"  [{ended}had the terminal, so no output goes with your message]", DIM)

    async def _copy(self, arguments: str) -> None:
        text = text_to_copy(self._transcript.last_answer, arguments)
        if text is None:
            self._say("The last answer has no code block.", DIM)
        elif not text:
            self._say("Nothing to copy yet.", DIM)
        elif await asyncio.to_thread(copy, text, self._host.env, self._screen.send):
            self._say(f"Copied {len(text):,} characters.", DIM)
        else:
            self._warn("The answer is too long for this terminal; /export writes it to a file.")

    @contextmanager
    def _signals_handled(self) -> Iterator[None]:
        """Handle signals of other processes: SIGINT like Ctrl-C, which is only a key here, and
        SIGCONT."""
        loop = asyncio.get_running_loop()
        handled: dict[int, Callable[[], object]] = {signal.SIGINT: self._interrupt}
        if sys.platform != "win32":
            handled[signal.SIGCONT] = self._continued
        with suppress(NotImplementedError, RuntimeError, ValueError):
            for number, handler in handled.items():
                loop.add_signal_handler(number, handler)
        try:
            yield
        finally:
            with suppress(NotImplementedError, RuntimeError, ValueError):
                for number in handled:
                    loop.remove_signal_handler(number)

    def _continued(self) -> None:
        """Get the terminal back after this process was stopped."""
        if not self._input.is_editing:
            self._terminal.continued(self._screen.app)

    def _interrupt(self) -> bool:
        """Stop the running command or turn; returns False if there is none."""
        if self._input.is_editing or self._local.stop():
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

    async def leave(self) -> None:
        """Stop a running turn, so that its history is complete, and remember that it was cut."""
        await self._local.close()
        talk = self._conversation
        if not talk.turns or self._questions or self._is_question_shown:
            return  # a turn that waits for an answer asks again when the chat is continued
        await self._host.storage.kv.set(f"{CUT_TURN}{talk.current}", True)
        await talk.say("/stop")
        with suppress(TimeoutError):
            async with asyncio.timeout(STOP_TIMEOUT):
                while talk.turns:
                    talk.changed.clear()
                    await talk.changed.wait()

    # Earlier sessions

    async def _pick_session(self) -> TypedMessage:
        """Return ``/resume ID`` for the session that the person picks; empty for none."""
        from .past_sessions import past_sessions, recap
        from .session_picker import pick

        def running(app: Any) -> None:
            self._screen.app = app

        found = await past_sessions(self._host)
        if not found:
            self._say("No session to resume yet.", DIM)
            return TypedMessage("", "")
        try:
            preview = partial(recap, self._host)
            session_id = await pick(found, preview, running, self._terminal)
        finally:
            self._screen.app = None
        line = f"{RESUME} {session_id}" if session_id else ""
        return TypedMessage(line, line)

    async def _show_recap(self) -> None:
        """Show the last messages of a session that was resumed."""
        session, self._conversation.resumed = self._conversation.resumed, None
        if session is not None:
            from .past_sessions import open_question, recap

            lines = await recap(self._host, session, window_width())
            self._say("\n".join(lines), DIM)
            await self._offer_retry(session)
            self._open = await open_question(self._host, session)
            if self._open is not None:
                self._input.pause()
            self._host.spawn(self._resume_turn(session), "finish an interrupted turn")

    async def _offer_retry(self, session: str) -> None:
        """Say that the session's last turn was cut when its chat was closed."""
        storage = self._host.storage
        if await storage.kv.get(f"{CUT_TURN}{session}"):
            await storage.kv.delete(f"{CUT_TURN}{session}")
            self._say(hanging(TURN_WAS_CUT, window_width(), ""), YELLOW)
        elif await storage.fetch("unfinished_turns", session_id=session):
            self._say(hanging(TURN_GOES_ON, window_width(), ""), YELLOW)

    async def _resume_turn(self, session: str) -> None:
        """Finish the session's unfinished turn; what it asked before is asked again."""
        if await self._host.services[Conversations].resume(session, "ask") is not None:
            await self._host.services[GatewayHost].deliver(CHANNEL, CHAT_ID)

    # Questions

    async def ask(self, question: Question) -> str | QuestionAnswer | None:
        """Queue a question and wait for its answer."""
        future: _AnswerFuture = asyncio.get_running_loop().create_future()
        self._questions.append((question, future))
        self._input.pause()
        return await future

    async def _ask_open_question(self) -> None:
        """Ask the question that a turn ended with; the answer is the person's next message."""
        question, self._open = self._open, None
        if question is None or self._conversation.open:
            return  # a message sent meanwhile is the answer
        draft = Draft()
        answer = await self._show_and_ask(
            with_other(question), draft, lambda _app: None, own_words=True
        )
        if not isinstance(answer, str):
            self._say(choices_text(question, window_width()))
            self._say("Write your answer, or the number of a choice.", DIM)
        else:
            await self._send(TypedMessage(answer, answer))

    async def _ask_next(self) -> None:
        question, future = self._questions.popleft()
        if future.done():
            return

        def running(app: Any) -> None:
            # It is answered elsewhere, or the turn is stopped.
            future.add_done_callback(lambda _done: _end(app))

        draft = Draft()
        try:
            answer = await self._show_and_ask(question, draft, running)
        except BaseException:
            future.cancel()
            raise
        if future.done():
            stored = await self._host.services[Questions].get(question.id)
            self._say(closed_line(stored), DIM)
            return
        future.set_result(answer)
        self._say(answer_line(answer), DIM)
        if draft.is_interrupted:
            self._interrupt()

    async def _show_and_ask(
        self,
        question: Question,
        draft: Draft,
        began: Callable[[Any], None],
        *,
        own_words: bool = False,
    ) -> str | QuestionAnswer | None:
        """Show a question and wait for its answer; ``began`` is called with the application."""
        self._transcript.commit_tail()
        self._transcript.is_asking = self._is_question_shown = True
        self._screen.write(question_text(question, window_width(), plain=self._is_plain))
        self._notifications.question_opened()
        line = self._input.draft
        draft.text = line.text_before_cursor

        def running(app: Any) -> None:
            self._screen.app = app
            began(app)

        try:
            answer = await ask(
                question,
                draft,
                terminal=self._terminal,
                running=running,
                own_words=own_words,
                plain=self._is_plain,
                next_mode=self._local.next_mode,
            )
            self._is_question_shown = False
            return answer
        finally:
            self._notifications.question_closed()
            self._screen.app = None
            self._transcript.restart_clocks()
            self._input.draft = Document(draft.text + line.text_after_cursor, len(draft.text))


def _end(app: Any) -> None:
    if app.is_running and not app.future.done():
        app.exit(exception=EOFError)
