"""Notes: entries of text, separated by a line ``§``; how they are read, written and found.

Nothing here accesses a disk; :mod:`.notefile` does.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from .wording import Complaint

SEPARATOR = "§"
DELIMITER = f"\n{SEPARATOR}\n"
BOM = "\ufeff"
_LINE_END = re.compile("\r\n|\r|\n")
_ID = re.compile(r"#[0-9a-f]{6}")


@dataclass(frozen=True, slots=True)
class Notes:
    """The entries of one file, in order. ``newline`` and ``bom`` are how the file writes text."""

    entries: tuple[str, ...] = ()
    newline: str = "\n"
    bom: bool = False

    @property
    def chars(self) -> int:
        """Code points of all entries and the delimiters between them."""
        return chars_of(self.entries)

    def render(self) -> str:
        """The file's text; empty without entries."""
        if not self.entries:
            return ""
        text = DELIMITER.join(self.entries) + "\n"
        return (BOM if self.bom else "") + text.replace("\n", self.newline)

    def having(self, entries: Sequence[str]) -> Notes:
        """Return other entries in the same format."""
        return replace(self, entries=tuple(entries))


def parse(text: str) -> Notes:
    """Parse the notes in a file's text, with any line endings. Blank entries, and white space
    around entries, are dropped.
    """
    ends = _LINE_END.findall(text)
    newline = "\r\n" if ends.count("\r\n") * 2 > len(ends) else "\n"
    lines = _LINE_END.sub("\n", text.removeprefix(BOM)).split("\n")
    return Notes(tuple(_entries(lines)), newline, text.startswith(BOM))


def _entries(lines: Sequence[str]) -> Iterator[str]:
    held: list[str] = []
    for line in [*lines, SEPARATOR]:
        if line.strip() != SEPARATOR:
            held.append(line)
            continue
        if entry := "\n".join(held).strip():
            yield entry
        held = []


def keeps_all(text: str) -> bool:
    """Return whether writing what was read gives ``text`` again, except for a final newline."""
    ends = set(_LINE_END.findall(text))
    notes = parse(text)
    return len(ends) < 2 and notes.render().rstrip("\r\n") == text.rstrip("\r\n")


def chars_of(entries: Sequence[str]) -> int:
    """Code points of the entries with the delimiters between them."""
    return sum(map(len, entries)) + len(DELIMITER) * max(0, len(entries) - 1)


def entry_of(text: str) -> str:
    """``text`` as an entry: line ends as ``\\n``, no white space around it.

    Raises:
        Complaint: it is empty, or it contains a separator line.
    """
    entry = _LINE_END.sub("\n", text.replace("\0", "").replace(BOM, "")).strip()
    if not entry:
        raise Complaint("content is empty; say what is to be noted, or use remove")
    if any(line.strip() == SEPARATOR for line in entry.split("\n")):
        raise Complaint(
            f"content has a line {SEPARATOR!r}, which separates entries; add two entries instead"
        )
    return entry


def mark_of(entry: str) -> str:
    """Return an id for an entry that does not reveal it: ``#`` and six hexadecimal digits."""
    digest = hashlib.sha256(entry.encode("utf-8", "surrogatepass"))
    return f"#{digest.hexdigest()[:6]}"


def matching(entries: Sequence[str], wanted: str) -> list[int]:
    """Return the ``entries`` that match ``wanted``: equal ones, else those that contain it, else
    those that contain it ignoring letter case and spacing. A repeated entry is returned once."""
    wanted = _LINE_END.sub("\n", wanted).strip()
    if not wanted:
        return []
    if _ID.fullmatch(wanted):
        found = [n for n, entry in enumerate(entries) if mark_of(entry) == wanted]
        if found:
            return found[:1]
    loose = _loosely(wanted)
    for fits in (
        lambda entry: entry == wanted,
        lambda entry: wanted in entry,
        lambda entry: loose in _loosely(entry),
    ):
        found = [n for n, entry in enumerate(entries) if fits(entry)]
        if found:
            return list({entries[n]: n for n in reversed(found)}.values())[::-1]
    return []


def _loosely(text: str) -> str:
    return " ".join(text.casefold().split())
