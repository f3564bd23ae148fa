"""The input line: multi-line editing, history, completion, and pauses that keep the draft."""

from __future__ import annotations

import asyncio
import select
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hookline_hookspecs import Attachment, Paths
from hookline_hookspecs.image_kinds import image_kind
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
from prompt_toolkit.shortcuts import CompleteStyle, PromptSession

from . import clipboard
from .completion_menu import highlight_first
from .dragged_files import dragged_paths, image_attachment, workspace_reference
from .editor import EditorFailed, edit
from .history import BoundedHistory
from .input_parser import ESCAPE_TIMEOUT
from .keys import bindings
from .paste_labels import PasteLabels, TypedMessage
from .prompt_styles import THEME_STYLE, color_depth
from .question_prompt import screen_for
from .suspension import TerminalKeys

PAUSED: Final = TypedMessage("\0paused", "\0paused")
"""Returned by :meth:`InputLine.read` after a pause. It holds a NUL, so it cannot be typed."""
_EDIT: Final = "\0edit"
MIN_MENU_ROWS, MAX_MENU_ROWS = 4, 8
"""Rows of the line with its completion menu, by the height of the screen."""
DOUBLE_ESCAPE_SECONDS = 1.0
"""Seconds between two Esc that belong together."""
REWIND = "/rewind"
"""The command that goes back to an earlier state; pressing Esc twice offers it."""
PICTURES_FOLDER = "pictures"
"""Folder of pasted pictures, in the plugin's own folder."""


@dataclass(frozen=True, slots=True)
class LineActions:
    """What is drawn around the line, and what its keys call.

    Attributes:
        above: returns the rows above the line, at every drawing.
        status: returns the row below the line, at every drawing.
        interrupt: called at Ctrl-C and Esc; returns False if there was nothing to stop.
        can_rewind: whether there is a command that goes back to an earlier state.
        expand: called at Ctrl-O, to show a folded result.
        say: shows a sentence above the line.
        next_mode: called at Shift-Tab.
        show_keys: called at ``?`` on an empty line.
        held: holds output back while another program has the screen.
        terminal: the keyboard.
    """

    above: Callable[[], StyleAndTextTuples]
    status: Callable[[], StyleAndTextTuples]
    interrupt: Callable[[], bool]
    can_rewind: Callable[[], bool]
    expand: Callable[[], None]
    say: Callable[[str], None]
    next_mode: Callable[[], None]
    show_keys: Callable[[], None]
    held: Callable[[], AbstractContextManager[None]]
    terminal: TerminalKeys


class InputLine:
    """Reads one message at a time.

    Args:
        paths: the guarded workspace, for files that are dragged into the window.
        folder: the folder for the history and pasted pictures.
        actions: what is drawn around the line and called by its keys.
        completer: completes at Tab.
        plain: for a screen reader: words instead of marks, and no menu that opens by itself.
    """

    def __init__(
        self, paths: Paths, folder: Path, actions: LineActions, completer: Completer, *, plain: bool
    ) -> None:
        self._paths = paths
        self._folder = folder
        self._actions = actions
        self._labels = PasteLabels()
        self._prompt = "Message: " if plain else "› "
        self.draft = Document()
        """The text of the line while :meth:`read` is not running."""
        self._is_leaving = False
        self._escaped: tuple[float, str] | None = None
        """When Esc was pressed once, and the text of the line then."""
        self._is_pause_requested = False
        self.is_editing = False
        """Whether another program has the terminal, such as the person's editor."""
        self._tasks: set[asyncio.Task[None]] = set()
        clipboard.remove_old_pictures(folder / PICTURES_FOLDER)
        self._session = _LineSession(
            self._message,
            multiline=True,
            history=BoundedHistory(folder, self._labels.recalled, self._labels.expanded),
            completer=completer,
            key_bindings=bindings(
                self,
                expand=actions.expand,
                show_keys=actions.show_keys,
                next_mode=actions.next_mode,
            ),
            prompt_continuation="  ",
            erase_when_done=True,
            input=actions.terminal.keyboard,
            output=screen_for(),
            style=THEME_STYLE,
            complete_while_typing=not plain,
            complete_style=CompleteStyle.READLINE_LIKE if plain else CompleteStyle.COLUMN,
        )
        self._session.app.ttimeoutlen = ESCAPE_TIMEOUT
        buffer = self._session.default_buffer
        self._session.app.before_render += lambda _app: highlight_first(buffer)
        add_status(self._session, actions.status)

    @property
    def app(self) -> Application[str]:
        """The application that draws the line while it reads."""
        return self._session.app

    def take_typed_ahead(self) -> None:
        """Take the keys that were typed before this program was ready. Call in raw mode.

        The terminal has turned each Enter into a newline. Only the last one sends, so that lines
        pasted that early stay one message.
        """
        keyboard = self.app.input
        if not select.select([keyboard.fileno()], [], [], 0)[0]:
            return
        keys = keyboard.read_keys()
        if keys and keys[-1].key is Keys.ControlJ:
            keys[-1] = KeyPress(Keys.ControlM, "\r")
        store_typeahead(keyboard, keys)

    def follow_theme(self) -> None:
        """Use no more colours than the current theme has."""
        self._session.color_depth = color_depth()

    async def read(self) -> TypedMessage | None:
        """Return a message, :data:`PAUSED`, or None when the person leaves."""
        self._is_pause_requested = False
        while True:
            draft, self.draft = self.draft, Document()
            try:
                text = await self._session.prompt_async(
                    default=draft, handle_sigint=False, set_exception_handler=False
                )
            except EOFError:
                return None
            if text != _EDIT:
                return PAUSED if text == PAUSED.text else self._labels.typed(text)
            await self.edit_draft()
            if self._is_pause_requested:
                return PAUSED

    def pause(self) -> None:
        """End :meth:`read` and keep the draft for the next call."""
        self._is_pause_requested = True
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
        hint = self._hint()
        return [*self._actions.above(), ("class:dim", hint), ("bold", self._prompt)]

    def _hint(self) -> str:
        if self._is_leaving:
            return "(Ctrl-C again ends the chat) "
        if self._is_escaped:
            text = self._session.default_buffer.text
            return "(Esc again clears the line) " if text else "(Esc again goes back) "
        return ""

    # Actions of keys

    def send(self, buffer: Buffer) -> None:
        """Send the message."""
        self._is_leaving = False
        buffer.validate_and_handle()

    def stop(self, buffer: Buffer) -> None:
        """Stop what is running, else clear the line, else leave if pressed twice."""
        if self._actions.interrupt():
            self._is_leaving = False
        elif buffer.text:
            self.clear(buffer)
        elif self._is_leaving:
            self.app.exit(exception=EOFError)
        else:
            self._is_leaving = True

    def escape(self, buffer: Buffer) -> None:
        """Close the menu or stop what is running; pressed twice, clear the line or go back."""
        was_escaped = self._is_escaped
        self._escaped = None
        if buffer.complete_state is None and self._actions.interrupt():
            return
        if not was_escaped:
            buffer.cancel_completion()
            if buffer.text or self._actions.can_rewind():
                self._await_second_escape(buffer.text)
        elif buffer.text:
            self.clear(buffer)
        else:
            buffer.insert_text(f"{REWIND} ")
            buffer.start_completion()

    def _await_second_escape(self, text: str) -> None:
        self._escaped = (time.monotonic(), text)
        redraw = self.app.invalidate
        asyncio.get_running_loop().call_later(DOUBLE_ESCAPE_SECONDS, redraw)

    @property
    def _is_escaped(self) -> bool:
        """Whether Esc was pressed a moment ago, and nothing since."""
        if self._escaped is None:
            return False
        since, text = self._escaped
        is_same = text == self._session.default_buffer.text
        return is_same and time.monotonic() - since < DOUBLE_ESCAPE_SECONDS

    def clear(self, buffer: Buffer) -> None:
        """Clear the line; its text stays in the history."""
        if buffer.text.strip():
            buffer.append_to_history()
        buffer.reset()

    def erase(self, buffer: Buffer, count: int) -> None:
        """Remove ``count`` characters before the cursor, or the label that ends there."""
        label = self._labels.label_before(buffer.document.text_before_cursor)
        buffer.delete_before_cursor(len(label) or max(1, count))

    def insert_pasted(self, text: str) -> None:
        """Insert a paste: dragged files as references, long text as a label."""
        files = dragged_paths(text)
        if files:
            self._insert(" ".join(self._file_text(file) for file in files) + " ")
        else:
            self._insert(self._labels.pasted(text, self._text))

    def _file_text(self, file: Path) -> str:
        inside = workspace_reference(file, self._paths)
        if inside is not None:
            return inside
        image = image_attachment(file)
        return self._labels.picture(image, self._text) if image is not None else str(file)

    def paste_clipboard(self) -> None:
        """Insert what the clipboard holds, as soon as it is known."""
        self._spawn(self._paste_clipboard())

    async def _paste_clipboard(self) -> None:
        found = await clipboard.read_clipboard()
        kind = image_kind(found.picture[:16])
        if kind is not None:
            extension = kind.mime.partition("/")[2]
            folder = self._folder / PICTURES_FOLDER
            file = await asyncio.to_thread(
                clipboard.store_picture, folder, found.picture, extension
            )
            name = f"pasted.{extension}"  # pasted, so the person's own, as pasted text is
            image = Attachment(file, kind.mime, name, len(found.picture), origins=())
            self._insert(self._labels.picture(image, self._text) + " ")
        elif found.text:
            self.insert_pasted(found.text.replace("\r\n", "\n").replace("\r", "\n"))
        else:
            self._actions.say(clipboard.NO_PROGRAM if found.missing else clipboard.EMPTY_CLIPBOARD)

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

    def terminal_event(self, data: str) -> None:
        """Take what the terminal sent by itself."""
        self._actions.terminal.terminal_event(data)

    def suspend(self) -> None:
        """Stop the program until the shell continues it."""
        self._actions.terminal.suspend(self.app)

    def open_editor(self) -> None:
        """End :meth:`read` to continue in the person's editor."""
        self._end_with(_EDIT)

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Leave the terminal to another program while no line is read."""
        self.is_editing = True
        try:
            with self._actions.held(), self.app.input.cooked_mode():
                yield
        finally:
            self.is_editing = False

    async def edit_draft(self) -> None:
        """Edit the draft, with its pastes in full, in the person's editor."""
        problem = ""
        try:
            with self.lent():
                text = await edit(self._labels.expanded(self.draft.text), self._folder)
            folded = self._labels.folded(text)
            self.draft = Document(folded, len(folded))
        except EditorFailed as error:
            problem = str(error)
        if problem:
            self._actions.say(problem)


class _LineSession(PromptSession[str]):
    """Reserves rows for the completion menu only while it is open, so that the status line stays
    just below the input line."""

    def _get_default_buffer_control_height(self) -> Dimension:
        if self.default_buffer.complete_state is None or self.app.is_done:
            return Dimension()
        rows = self.app.output.get_size().rows // 3
        return Dimension(min=max(MIN_MENU_ROWS, min(MAX_MENU_ROWS, rows)))


def add_status(session: PromptSession[str], status: Callable[[], StyleAndTextTuples]) -> None:
    """Show ``status`` below the line.

    The prompt's own ``bottom_toolbar`` is hidden until the terminal has reported its cursor
    position, after every line that is written above: it would flicker, or never be seen.
    """
    line = Window(FormattedTextControl(status), height=1, dont_extend_height=True)
    shown = ConditionalContainer(line, ~is_done & Condition(lambda: bool(status())))
    # Spare rows stay below the status line.
    session.layout.current_window.dont_extend_height = to_filter(True)
    session.layout.container = HSplit([session.layout.container, shown], align=VerticalAlign.TOP)
