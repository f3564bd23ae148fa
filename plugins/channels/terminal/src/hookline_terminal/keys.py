"""Key bindings of the input line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from prompt_toolkit.application import get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import Condition, has_completions, has_focus, vi_insert_mode
from prompt_toolkit.key_binding import ConditionalKeyBindings, KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from .completion_menu import accept, is_highlighted


class EditableLine(Protocol):
    """What the keys call; implemented by ``InputLine``."""

    def send(self, buffer: Buffer) -> None:
        """Send the message."""

    def stop(self, buffer: Buffer) -> None:
        """Stop what is running, or clear the line, or leave."""

    def escape(self, buffer: Buffer) -> None:
        """Stop what is running; pressed twice, clear the line, or go back if it is empty."""

    def insert_pasted(self, text: str) -> None:
        """Insert a paste."""

    def paste_clipboard(self) -> None:
        """Insert the content of the clipboard."""

    def open_editor(self) -> None:
        """Continue in the person's editor."""

    def suspend(self) -> None:
        """Stop the program until the shell continues it."""

    def terminal_event(self, data: str) -> None:
        """Take what the terminal sent by itself."""

    def erase(self, buffer: Buffer, count: int) -> None:
        """Remove characters before the cursor, or a whole label."""


def bindings(
    line: EditableLine,
    *,
    expand: Callable[[], None],
    show_keys: Callable[[], None],
    next_mode: Callable[[], None],
) -> ConditionalKeyBindings:
    """Return the bindings, in addition to prompt_toolkit's; a history search keeps its own."""
    keys = KeyBindings()
    _add_editing(keys, line)
    _add_pasting(keys, line)

    pressed = {"c-o": expand, "s-tab": next_mode, "c-g": line.open_editor, "c-z": line.suspend}
    for key, do in pressed.items():
        keys.add(key)(_calling(do))
    keys.add("?", filter=Condition(_is_empty))(_calling(show_keys))
    keys.add(Keys.Ignore)(lambda event: line.terminal_event(event.data))
    return ConditionalKeyBindings(keys, has_focus(DEFAULT_BUFFER))


def _add_editing(keys: KeyBindings, line: EditableLine) -> None:
    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.document.text_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.newline(copy_margin=False)
        else:
            line.send(buffer)

    @keys.add("enter", filter=Condition(lambda: is_highlighted(get_app().current_buffer)))
    @keys.add("tab", filter=has_completions)
    def _(event: KeyPressEvent) -> None:
        accept(event.current_buffer)

    @keys.add("escape", "enter")
    @keys.add("c-j")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.newline(copy_margin=False)

    # Esc alone is these two, so that Alt with a key that does nothing is not Esc.
    @keys.add("escape", Keys.Ignore, filter=~vi_insert_mode)
    def _(event: KeyPressEvent) -> None:
        line.escape(event.current_buffer)

    @keys.add("c-c")
    def _(event: KeyPressEvent) -> None:
        line.stop(event.current_buffer)

    @keys.add("backspace", save_before=lambda event: not event.is_repeat)
    def _(event: KeyPressEvent) -> None:
        line.erase(event.current_buffer, event.arg)


def _add_pasting(keys: KeyBindings, line: EditableLine) -> None:
    @keys.add(Keys.BracketedPaste)
    def _(event: KeyPressEvent) -> None:
        # A terminal with an image in its clipboard pastes an empty text.
        if event.data:
            line.insert_pasted(event.data.replace("\r\n", "\n").replace("\r", "\n"))
        else:
            line.paste_clipboard()

    @keys.add("c-v")
    @keys.add("escape", "v")
    def _(_event: KeyPressEvent) -> None:
        line.paste_clipboard()


def _calling(do: Callable[[], None]) -> Callable[[KeyPressEvent], None]:
    def pressed(_event: KeyPressEvent) -> None:
        do()

    return pressed


def _is_empty() -> bool:
    return not get_app().current_buffer.text
