"""The list to pick an earlier session from: typing narrows it, and a preview is below."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from hookline_markdown import one_line, width_of, window_size, window_width
from prompt_toolkit.application import Application
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import Layout, Window
from prompt_toolkit.layout.controls import FormattedTextControl

from .input_parser import ESCAPE_TIMEOUT
from .past_sessions import PastSession
from .prompt_styles import THEME_STYLE, color_depth
from .question_prompt import screen_for
from .suspension import TerminalKeys
from .terminal_events import TERMINAL_EVENTS

HEADING = "Resume a session: type to search, ↑ ↓ to choose, Enter, Esc"
DIM = "class:dim"
MIN_ROWS, MAX_ROWS = 3, 10
"""Sessions shown at once."""
OTHER_ROWS = 12
"""Rows for heading, search and preview."""
MAX_PREVIEW_LINES = 7
MIN_DETAIL_COLUMNS = 70
"""On a narrower screen, only time and name of a session are shown."""
Preview = Callable[[str, int], Awaitable[list[str]]]


async def pick(
    sessions: Sequence[PastSession],
    preview: Preview,
    running: Callable[[Application[Any]], None] = lambda _app: None,
    terminal: TerminalKeys | None = None,
) -> str | None:
    """Ask the person to pick a session; return its id, or None.

    Args:
        sessions: the sessions to pick from.
        preview: returns the preview lines for a session's id and a width.
        running: called with the application.
        terminal: the keyboard; None for that of the process.
    """
    picker = _SessionPicker(sessions, preview, terminal or TerminalKeys())
    running(picker.app)
    try:
        return await picker.app.run_async(handle_sigint=False, set_exception_handler=False)
    except (EOFError, KeyboardInterrupt):
        return None
    finally:
        picker.close()


class _SessionPicker:
    """The screen of the list."""

    def __init__(
        self, sessions: Sequence[PastSession], preview: Preview, terminal: TerminalKeys
    ) -> None:
        self._sessions = sessions
        self._terminal = terminal
        self._found = list(sessions)
        self._preview = preview
        self._previews: dict[str, list[str]] = {}
        self._loading: asyncio.Task[None] | None = None
        self._typed = ""
        self._at = 0
        screen = FormattedTextControl(self._lines, focusable=True, show_cursor=False)
        self.app: Application[str | None] = Application(
            layout=Layout(Window(screen, wrap_lines=False, dont_extend_height=True)),
            key_bindings=self._bindings(),
            erase_when_done=True,
            style=THEME_STYLE,
            color_depth=color_depth,
            before_render=lambda _app: self._load(),
            input=terminal.keyboard,
            output=screen_for(),
        )
        self.app.ttimeoutlen = self.app.timeoutlen = ESCAPE_TIMEOUT

    def close(self) -> None:
        """Stop loading."""
        if self._loading is not None:
            self._loading.cancel()

    # Drawing

    def _lines(self) -> StyleAndTextTuples:
        columns, rows = window_width(), window_size().lines
        shown = max(MIN_ROWS, min(MAX_ROWS, rows - OTHER_ROWS))
        top = max(0, min(self._at - shown // 2, len(self._found) - shown))
        lines: StyleAndTextTuples = [
            (DIM, one_line(HEADING, columns - 1) + "\n"),
            ("bold", "› "),
            ("", one_line(self._typed, columns - 4) + "▏\n"),
        ]
        for at, past in enumerate(self._found[top : top + shown], top):
            style, mark = ("reverse", "▸") if at == self._at else ("", " ")
            lines.append((style, f"{mark} {_row(past, columns - 3)}"))
            lines.append(("", "\n"))
        if not self._found:
            lines.append((DIM, "  No matching session.\n"))
        elif len(self._found) > shown:
            lines.append((DIM, f"  {self._at + 1} of {len(self._found)}\n"))
        lines.append((DIM, "─" * (columns - 1) + "\n"))
        preview = self._previews.get(self._found[self._at].id, []) if self._found else []
        lines += [(DIM, line + "\n") for line in preview[-MAX_PREVIEW_LINES:]]
        return lines

    def _load(self) -> None:
        """Load the preview of the marked session."""
        if not self._found or self._found[self._at].id in self._previews:
            return
        if self._loading is None or self._loading.done():
            work = self._fetch(self._found[self._at].id)
            self._loading = asyncio.get_running_loop().create_task(work)

    async def _fetch(self, session_id: str) -> None:
        width = window_width() - 1
        self._previews[session_id] = await self._preview(session_id, width)
        self.app.invalidate()

    # Keys

    def _search(self, typed: str) -> None:
        self._typed, self._at = typed, 0
        self._found = [past for past in self._sessions if past.matches(typed)]

    def _move(self, by: int) -> None:
        self._at = max(0, min(self._at + by, len(self._found) - 1))

    def _bindings(self) -> KeyBindings:
        bindings = KeyBindings()
        moves = {
            "up": -1,
            "c-p": -1,
            "down": 1,
            "c-n": 1,
            "pageup": -MIN_ROWS,
            "pagedown": MIN_ROWS,
        }
        for key, by in moves.items():
            bindings.add(key)(lambda _event, by=by: self._move(by))

        @bindings.add("enter")
        def _(event: KeyPressEvent) -> None:
            if self._found:
                event.app.exit(result=self._found[self._at].id)

        @bindings.add("escape")
        @bindings.add("c-c")
        @bindings.add("c-d")
        def _(event: KeyPressEvent) -> None:
            event.app.exit(result=None)

        @bindings.add("backspace")
        def _(_event: KeyPressEvent) -> None:
            self._search(self._typed[:-1])

        @bindings.add("c-u")
        def _(_event: KeyPressEvent) -> None:
            self._search("")

        terminal = self._terminal
        bindings.add("c-z")(lambda event: terminal.suspend(event.app))
        for event_key in TERMINAL_EVENTS:
            bindings.add(event_key)(lambda event: terminal.terminal_event(event.data))

        @bindings.add(Keys.Any)
        @bindings.add(Keys.BracketedPaste)
        def _(event: KeyPressEvent) -> None:
            words = "".join(char for char in event.data if char.isprintable())
            self._search(self._typed + words)

        return bindings


def _row(past: PastSession, columns: int) -> str:
    """Return time and name of a session and, if there is room, its length and id."""
    turns = "1 turn" if past.turns == 1 else f"{past.turns} turns"
    tail = f"  {turns:>9}  {one_line(past.id, 24)}" if columns >= MIN_DETAIL_COLUMNS else ""
    room = columns - len(past.when) - 2 - len(tail)
    name = one_line(past.name, room)
    return f"{past.when}  {name}{' ' * (room - width_of(name)) if tail else ''}{tail}"
