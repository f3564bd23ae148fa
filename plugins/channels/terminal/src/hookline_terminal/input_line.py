"""The input line: many lines, history, completion, and a pause in which the draft is kept."""

from __future__ import annotations

import asyncio
import select
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hookline_hookspecs import Attachment, Paths
from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import Completer
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition, is_done, to_filter
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.input.typeahead import store_typeahead
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import ConditionalContainer, HSplit, VerticalAlign, Window
from prompt_toolkit.layout.controls import FormattedTextControl
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.shortcuts import PromptSession

from . import clipboard
from .asking import screen_for
from .dropped import dragged, mime_type, picture, reference
from .editor import NoEditor, edit
from .folding import Folding, Typed
from .history import BoundedHistory
from .keys import bindings

PAUSED: Final = Typed("\0paused", "\0paused")
"""What :meth:`InputLine.read` returns when it was paused; nobody can type it."""
_EDIT: Final = "\0edit"
ESCAPE_SECONDS = 0.1
"""How long a lone Esc waits for the rest of a key's sequence, which comes at once."""
FEWEST, MOST = 4, 8
"""Rows of the line and the menu below it, by the height of the screen."""
PICTURES = "pictures"
"""The folder of pasted pictures, in the plugin's own."""


@dataclass(frozen=True, slots=True)
class Around:
    """What stands around the line, and what its keys call.

    Attributes:
        above: what stands above the line; asked at every drawing.
        status: what stands below the line; asked at every drawing.
        interrupt: called at Ctrl-C; False means that there was nothing to stop.
        expand: called at Ctrl-O, for all of what was folded.
        say: shows a sentence above the line.
        next_mode: called at Shift-Tab.
        show_keys: called at ``?`` on an empty line.
        held: holds what is written while another program has the screen.
    """

    above: Callable[[], StyleAndTextTuples]
    status: Callable[[], StyleAndTextTuples]
    interrupt: Callable[[], bool]
    expand: Callable[[], None]
    say: Callable[[str], None]
    next_mode: Callable[[], None]
    show_keys: Callable[[], None]
    held: Callable[[], AbstractContextManager[None]]


class InputLine:
    """Reads one message at a time.

    Args:
        paths: the guarded workspace, for files that are dragged into the window.
        folder: where the history and pasted pictures are kept.
        around: what the line shows and calls.
        completer: what Tab offers.
    """

    def __init__(self, paths: Paths, folder: Path, around: Around, completer: Completer) -> None:
        self._paths = paths
        self._folder = folder
        self._around = around
        self._folding = Folding()
        self.draft = Document()
        """What stands in the line while nobody reads it."""
        self._leaving = False
        self._wants_pause = False
        self.is_editing = False
        """Whether the person's editor has the screen."""
        self._tasks: set[asyncio.Task[None]] = set()
        clipboard.forget_old(folder / PICTURES)
        self._session = _Session(
            self._message,
            multiline=True,
            history=BoundedHistory(folder, self._folding.recalled, self._folding.expanded),
            completer=completer,
            key_bindings=bindings(
                self, expand=around.expand, show_keys=around.show_keys, next_mode=around.next_mode
            ),
            prompt_continuation="  ",
            erase_when_done=True,
            output=screen_for(),
        )
        self._session.app.ttimeoutlen = ESCAPE_SECONDS
        add_status(self._session, around.status)

    @property
    def app(self) -> Application[str]:
        """What draws the line while it reads."""
        return self._session.app

    def take_typed_ahead(self) -> None:
        """Take what was typed before this program read keys; in raw mode.

        Till then the terminal made a newline of Enter. Only the last one sends: lines that were
        pasted so early stay one message.
        """
        keyboard = self.app.input
        if not select.select([keyboard.fileno()], [], [], 0)[0]:
            return
        keys = keyboard.read_keys()
        if keys and keys[-1].key is Keys.ControlJ:
            keys[-1] = KeyPress(Keys.ControlM, "\r")
        store_typeahead(keyboard, keys)

    async def read(self) -> Typed | None:
        """A message, :data:`PAUSED`, or None when the person leaves."""
        self._wants_pause = False
        while True:
            draft, self.draft = self.draft, Document()
            try:
                text = await self._session.prompt_async(
                    default=draft, handle_sigint=False, set_exception_handler=False
                )
            except EOFError:
                return None
            if text != _EDIT:
                return PAUSED if text == PAUSED.text else self._folding.typed(text)
            await self._edit()
            if self._wants_pause:
                return PAUSED

    def pause(self) -> None:
        """End the reading and keep the draft for the next one."""
        self._wants_pause = True
        self._end_with(PAUSED.text)

    def _end_with(self, result: str) -> None:
        if self._is_reading:
            self.draft = self._session.default_buffer.document
            self.app.exit(result=result)

    @property
    def _is_reading(self) -> bool:
        future = self.app.future
        return self.app.is_running and future is not None and not future.done()

    def _message(self) -> StyleAndTextTuples:
        hint = "(Ctrl-C again ends the chat) " if self._leaving else ""
        return [*self._around.above(), ("fg:ansibrightblack", hint), ("bold", "› ")]

    # What the keys do

    def send(self, buffer: Buffer) -> None:
        """Send the message."""
        self._leaving = False
        buffer.validate_and_handle()

    def stop(self, buffer: Buffer) -> None:
        """Stop what runs; else clear the line; else leave, at the second time."""
        if self._around.interrupt():
            self._leaving = False
        elif buffer.text:
            self.clear(buffer)
        elif self._leaving:
            self.app.exit(exception=EOFError)
        else:
            self._leaving = True

    def clear(self, buffer: Buffer) -> None:
        """Clear the line; the history keeps what stood there."""
        if buffer.text.strip():
            buffer.append_to_history()
        buffer.reset()

    def erase(self, buffer: Buffer, count: int) -> None:
        """Remove ``count`` characters before the cursor, or the label that ends there."""
        label = self._folding.label_before(buffer.document.text_before_cursor)
        buffer.delete_before_cursor(len(label) or max(1, count))

    def insert_pasted(self, text: str) -> None:
        """Insert a paste: files that were dragged here as references, long text as a label."""
        files = dragged(text)
        if files:
            self._insert(" ".join(self._dropped(file) for file in files) + " ")
        else:
            self._insert(self._folding.pasted(text, self._text))

    def _dropped(self, file: Path) -> str:
        inside = reference(file, self._paths)
        if inside is not None:
            return inside
        shot = picture(file)
        return self._folding.picture(shot, self._text) if shot is not None else str(file)

    def paste_clipboard(self) -> None:
        """Insert what the clipboard holds, as soon as it is known."""
        self._spawn(self._paste_clipboard())

    async def _paste_clipboard(self) -> None:
        found = await clipboard.read_clipboard()
        mime = mime_type(found.picture[:16])
        if mime is not None:
            kind = mime.partition("/")[2]
            folder = self._folder / PICTURES
            file = await asyncio.to_thread(clipboard.stored, folder, found.picture, kind)
            shot = Attachment(file, mime, f"pasted.{kind}", len(found.picture))
            self._insert(self._folding.picture(shot, self._text) + " ")
        elif found.text:
            self.insert_pasted(found.text.replace("\r\n", "\n").replace("\r", "\n"))
        else:
            self._around.say(clipboard.MISSING if found.missing else clipboard.EMPTY)

    @property
    def _text(self) -> str:
        return self._session.default_buffer.text if self._is_reading else self.draft.text

    def _insert(self, text: str) -> None:
        if self._is_reading:
            self._session.default_buffer.insert_text(text)
            self.app.invalidate()
            return
        before, after = self.draft.text_before_cursor, self.draft.text_after_cursor
        self.draft = Document(before + text + after, len(before) + len(text))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # The editor

    def open_editor(self) -> None:
        """End the reading, to go on in the person's editor."""
        self._end_with(_EDIT)

    async def _edit(self) -> None:
        """Let the person's editor have the terminal and the draft, with the words of its pastes."""
        self.is_editing = True
        problem = ""
        try:
            with self._around.held(), self.app.input.cooked_mode():
                text = await edit(self._folding.expanded(self.draft.text), self._folder)
            folded = self._folding.folded(text)
            self.draft = Document(folded, len(folded))
        except NoEditor as error:
            problem = str(error)
        finally:
            self.is_editing = False
        if problem:
            self._around.say(problem)


class _Session(PromptSession[str]):
    """Keeps rows for the menu of completions only while there is one, so that the status stays just
    below the line."""

    def _get_default_buffer_control_height(self) -> Dimension:
        if self.default_buffer.complete_state is None or self.app.is_done:
            return Dimension()
        return Dimension(min=max(FEWEST, min(MOST, self.app.output.get_size().rows // 3)))


def add_status(session: PromptSession[str], status: Callable[[], StyleAndTextTuples]) -> None:
    """Show ``status`` below the line.

    The prompt's own ``bottom_toolbar`` is hidden until the terminal has said where its cursor is,
    after every line that is written above: it would flicker, or never show.
    """
    line = Window(FormattedTextControl(status), height=1, dont_extend_height=True)
    shown = ConditionalContainer(line, ~is_done & Condition(lambda: bool(status())))
    # What is left of the rows stays below the status.
    session.layout.current_window.dont_extend_height = to_filter(True)
    session.layout.container = HSplit([session.layout.container, shown], align=VerticalAlign.TOP)
