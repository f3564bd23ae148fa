"""Check for ``hookline doctor``: the files of notes can be read and fit the limit."""

from __future__ import annotations

from hookline_hookspecs import CheckResult

from .note_file import UnreadableNotes
from .note_paths import NotePaths
from .text import count_of, format_usage


def notes_check(note_paths: NotePaths, limit: int) -> CheckResult:
    """Check that every file of notes can be read and fits the limit."""
    full = []
    count = 0
    for file, _chat in note_paths.all():
        count += 1
        try:
            chars = file.read().notes.chars
        except UnreadableNotes as error:
            return CheckResult(False, f"{error}.", f"Fix or remove {file.path}.")
        if chars > limit:
            full.append(f"{file.name} ({format_usage(chars, limit)})")
    if full:
        shown = ", ".join(full[:5])
        return CheckResult(
            True,
            f"Too long to be read completely: {shown}.",
            "Shorten it, or raise plugins.memory.notes_max_chars.",
            hint=True,
        )
    summary = f"{count_of(count, 'file')} of notes, all readable." if count else "No notes yet."
    return CheckResult(True, summary)
