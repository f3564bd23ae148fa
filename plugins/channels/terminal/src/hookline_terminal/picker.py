"""Choosing an earlier session: a list that typing narrows, and the last messages of one of it."""

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

from .past import Past

HEADING = "Resume a session: type to search, ↑ ↓ to choose, Enter, Esc"
DIM = "fg:ansibrightblack"
FEWEST, MOST = 3, 10
"""Sessions shown at once."""
AROUND = 12
"""Lines of the screen that are not the list: heading, search, preview."""
PREVIEW = 7
"""Lines of the preview."""
WIDE = 70
"""Columns from which there is room for more than a session's name."""
ESCAPE = 0.05
"""Seconds after which Esc is the key, and not the beginning of another."""
Preview = Callable[[str, int], Awaitable[list[str]]]


async def pick(
    sessions: Sequence[Past],
    preview: Preview,
    running: Callable[[Application[Any]], None] = lambda _app: None,
) -> str | None:
    """Let the person choose; the session's id, or None.

    ``preview`` returns the lines for a session's id and a width. ``running`` is told the
    application that waits.
    """
    picker = _Picker(sessions, preview)
    running(picker.app)
    try:
        return await picker.app.run_async(handle_sigint=False, set_exception_handler=False)
    except (EOFError, KeyboardInterrupt):
        return None
    finally:
        picker.close()


class _Picker:
    """The screen of the list."""

    def __init__(self, sessions: Sequence[Past], preview: Preview) -> None:
        self._sessions = sessions
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
            before_render=lambda _app: self._load(),
        )
        self.app.ttimeoutlen = self.app.timeoutlen = ESCAPE

    def close(self) -> None:
        """Stop loading."""
        if self._loading is not None:
            self._loading.cancel()

    # What is shown

    def _lines(self) -> StyleAndTextTuples:
        columns, rows = window_width(), window_size().lines
        shown = max(FEWEST, min(MOST, rows - AROUND))
        top = max(0, min(self._at - shown // 2, len(self._found) - shown))
        lines: StyleAndTextTuples = [
            (DIM, one_line(HEADING, columns - 1) + "\n"),
            ("bold", "› "),
            ("", one_line(self._typed, columns - 4) + "▏\n"),
        ]
        for at, one in enumerate(self._found[top : top + shown], top):
            style, mark = ("reverse", "▸") if at == self._at else ("", " ")
            lines.append((style, f"{mark} {_row(one, columns - 3)}"))
            lines.append(("", "\n"))
        if not self._found:
            lines.append((DIM, "  No session holds these words.\n"))
        elif len(self._found) > shown:
            lines.append((DIM, f"  {self._at + 1} of {len(self._found)}\n"))
        lines.append((DIM, "─" * (columns - 1) + "\n"))
        preview = self._previews.get(self._found[self._at].id, []) if self._found else []
        lines += [(DIM, line + "\n") for line in preview[-PREVIEW:]]
        return lines

    def _load(self) -> None:
        """Fetch the preview of the one that is marked."""
        if not self._found or self._found[self._at].id in self._previews:
            return
        if self._loading is None or self._loading.done():
            work = self._fetch(self._found[self._at].id)
            self._loading = asyncio.get_running_loop().create_task(work)

    async def _fetch(self, session_id: str) -> None:
        width = window_width() - 1
        self._previews[session_id] = await self._preview(session_id, width)
        self.app.invalidate()

    # What is typed

    def _search(self, typed: str) -> None:
        self._typed, self._at = typed, 0
        self._found = [one for one in self._sessions if one.holds(typed)]

    def _move(self, by: int) -> None:
        self._at = max(0, min(self._at + by, len(self._found) - 1))

    def _bindings(self) -> KeyBindings:
        bindings = KeyBindings()
        moves = {"up": -1, "c-p": -1, "down": 1, "c-n": 1, "pageup": -FEWEST, "pagedown": FEWEST}
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

        @bindings.add(Keys.Any)
        @bindings.add(Keys.BracketedPaste)
        def _(event: KeyPressEvent) -> None:
            words = "".join(char for char in event.data if char.isprintable())
            self._search(self._typed + words)

        return bindings


def _row(one: Past, columns: int) -> str:
    """When, what about and, where there is room, how long and under which id."""
    turns = "1 turn" if one.turns == 1 else f"{one.turns} turns"
    tail = f"  {turns:>9}  {one_line(one.id, 24)}" if columns >= WIDE else ""
    room = columns - len(one.when) - 2 - len(tail)
    name = one_line(one.name, room)
    return f"{one.when}  {name}{' ' * (room - width_of(name)) if tail else ''}{tail}"
