"""The doctor's check of the notes."""

from __future__ import annotations

from hookline_hookspecs import CheckResult

from .notefile import Unreadable
from .places import Places
from .wording import counted, used


def notes_check(places: Places, limit: int) -> CheckResult:
    """Check that every file of notes can be read and fits the limit."""
    full = []
    count = 0
    for file, _chat in places.all():
        count += 1
        try:
            chars = file.read().notes.chars
        except Unreadable as error:
            return CheckResult(False, f"{error}.", f"Mend or remove {file.path}.")
        if chars > limit:
            full.append(f"{file.name} ({used(chars, limit)})")
    if full:
        shown = ", ".join(full[:5])
        return CheckResult(
            True,
            f"Not all of {shown} is read.",
            "Shorten it by hand, or raise plugins.memory.notes_max_chars.",
            hint=True,
        )
    told = (
        f"{counted(count, 'file')} of notes, all readable." if count else "There are no notes yet."
    )
    return CheckResult(True, told)
