"""The menu of completions: what is highlighted when it opens, and what Enter and Tab take."""

from __future__ import annotations

import re

from prompt_toolkit.buffer import Buffer, CompletionState

_COMMAND = re.compile(r"/\S*")
_REFERENCE = re.compile(r"(?:^|[\s(\[{])@\S+$")


def highlight_first(buffer: Buffer) -> None:
    """Highlight the first offer for the beginning of a command or a path; call before drawing.

    Nothing is highlighted for a whole command, which Enter sends, and for arguments.
    """
    state = buffer.complete_state
    if state is None or state.complete_index is not None or not state.completions:
        return
    before = state.original_document.text_before_cursor
    if not (_COMMAND.fullmatch(before) or _REFERENCE.search(before)):
        return
    if _line_after(state, 0) != before:
        state.complete_index = 0


def is_highlighted(buffer: Buffer) -> bool:
    """Whether an offer is highlighted, so that Enter takes it."""
    return buffer.complete_state is not None and buffer.complete_state.complete_index is not None


def accept(buffer: Buffer) -> None:
    """Take the highlighted offer, or the first, and close the menu; a folder opens its own."""
    state = buffer.complete_state
    if state is None or not state.completions:
        return
    place = state.complete_index or 0
    line = _line_after(state, place)
    before = state.original_document.text_before_cursor
    buffer.apply_completion(state.completions[place])
    if line.endswith("/"):
        buffer.start_completion()
    elif _COMMAND.fullmatch(before) or (_REFERENCE.search(before) and not line.endswith(":")):
        buffer.insert_text(" ")


def _line_after(state: CompletionState, place: int) -> str:
    """Return the text before the cursor once the offer is taken."""
    before = state.original_document.text_before_cursor
    offer = state.completions[place]
    return before[: len(before) + offer.start_position] + offer.text
