"""Lines that the chat handles itself: ``!command`` and ``/keys``; and Shift-Tab."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from hookline_hookspecs import Conversations, HooklineError, Host
from hookline_hookspecs.modes import Mode, Modes
from hookline_hookspecs.services import Services
from hookline_markdown import GUTTER, folded, hanging, one_line, window_width
from prompt_toolkit.formatted_text import StyleAndTextTuples

from .activity import format_duration
from .completion import ChatCompleter
from .conversation import TerminalConversation
from .key_help import table
from .past_sessions import past_sessions
from .progress import FRAME_SECONDS, FRAMES, STOP_HINT
from .shell_escape import ShellEscape
from .styles import DIM, YELLOW

KEYS = "/keys"
BUSY = "A command is running; Esc stops it. ↑ brings this one back."
OUTPUT_HINT = "Its output goes with your next message."
NEXT_MODE: dict[Mode, Mode] = {"ask": "auto", "auto": "plan", "plan": "ask", "yolo": "ask"}
"""The order of the modes; ``yolo`` can only be chosen by an option."""
MODE_MEANING: dict[Mode, str] = {
    "ask": "every call that changes anything asks first",
    "auto": "only what is risky asks",
    "plan": "nothing is changed",
}


class WriteLines(Protocol):
    """Shows lines above the input line."""

    def __call__(self, text: str, *styles: str) -> None:
        """Show ``text`` in these styles."""


class LocalCommands:
    """Handles lines that need no turn.

    ``changed`` is called after a change of the mode, ``redraw`` while :meth:`rows` change.
    """

    def __init__(
        self,
        host: Host,
        conversation: TerminalConversation,
        say: WriteLines,
        changed: Callable[[], None],
        redraw: Callable[[], None],
    ) -> None:
        self._host = host
        self._conversation = conversation
        self._say = say
        self._changed = changed
        self._redraw = redraw
        self._shell = ShellEscape(
            host.paths.workspace, self._show_output, conversation.add_shell_run
        )
        self._is_hint_shown = False
        self._tasks: set[asyncio.Task[None]] = set()

    @staticmethod
    def handles(text: str) -> bool:
        """Whether the chat itself handles ``text``."""
        line = text.strip()
        return line.casefold() == KEYS or (line.startswith("!") and bool(line[1:].strip()))

    def run(self, text: str) -> None:
        """Run ``/keys`` or a command after ``!``."""
        line = text.strip()
        if line.casefold() == KEYS:
            self.show_keys()
        elif self._shell.is_running:
            self._say(BUSY, YELLOW)
        else:
            if not self._is_hint_shown:
                self._say(f"  {OUTPUT_HINT}", DIM)
                self._is_hint_shown = True
            self._shell.start(line[1:].strip())
            self._spawn(self._spin())

    def rows(self, width: int) -> StyleAndTextTuples:
        """Return the row of the command that is running, with its line break."""
        if not self._shell.is_running:
            return []
        frame = FRAMES[int(self._shell.seconds / FRAME_SECONDS) % len(FRAMES)]
        tail = f" {format_duration(self._shell.seconds, whole=True)} · {STOP_HINT}"
        command = one_line(f"!{self._shell.command}", max(8, width - len(tail) - 4))
        return [("class:dim", one_line(f"{frame} {command}{tail}", width - 1) + "\n")]

    async def _spin(self) -> None:
        while self._shell.is_running:
            self._redraw()
            await asyncio.sleep(FRAME_SECONDS)
        self._redraw()

    def stop(self) -> bool:
        """Stop the running command; returns False if there is none."""
        return self._shell.stop()

    async def close(self) -> None:
        """Kill the running command."""
        await self._shell.close()

    def _show_output(self, line: str) -> None:
        rows = folded(line.expandtabs(8), window_width() - len(GUTTER))
        self._say("\n".join(f"{GUTTER}{row}" for row in rows), DIM)

    def show_keys(self) -> None:
        """Show the table of keys."""
        self._say(table(window_width()), "")

    def next_mode(self) -> None:
        """Change the session's mode to the next one."""
        self._spawn(self._next_mode())

    async def _next_mode(self) -> None:
        session = self._conversation.current or ""
        sentence = await next_mode(self._host.services, session)
        self._say(hanging(sentence, window_width(), ""), DIM)
        self._changed()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def next_mode(services: Services, session_id: str) -> str:
    """Set the session's next mode and return a sentence about it."""
    modes = services.get(Modes)
    if modes is None:
        return "The plugin permissions is off. Run `hookline plugins enable permissions`."
    mode = NEXT_MODE[await modes.get(session_id)]
    try:
        await modes.set(session_id, mode)
    except HooklineError as error:
        return str(error)
    return f"Mode {mode}: {MODE_MEANING[mode]}."


def chat_completer(host: Host, conversation: TerminalConversation) -> ChatCompleter:
    """Return the completer of this chat."""
    core = host.services[Conversations]

    async def before() -> str | None:
        if conversation.opened is not None:
            return None
        return next((past.id for past in await past_sessions(host)), None)

    return ChatCompleter(host.paths, core.commands, lambda: conversation.current, before)
