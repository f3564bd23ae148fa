"""Notes: entries separated by a line ``§``; parsing, rendering and finding them.

Nothing here accesses the disk; :mod:`.note_file` does.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from .errors import InvalidOperation

SEPARATOR = "§"
DELIMITER = f"\n{SEPARATOR}\n"
BOM = "\ufeff"
_LINE_END = re.compile("\r\n|\r|\n")
_ID = re.compile(r"#[0-9a-f]{6}")


@dataclass(frozen=True, slots=True)
class Notes:
    """The entries of one file in order, with its line ending and byte order mark."""

    entries: tuple[str, ...] = ()
    newline: str = "\n"
    bom: bool = False

    @property
    def chars(self) -> int:
        """Code points of all entries and the delimiters between them."""
        return chars_of(self.entries)

    def render(self) -> str:
        """Return the file's text; empty without entries."""
        if not self.entries:
            return ""
        text = DELIMITER.join(self.entries) + "\n"
        return (BOM if self.bom else "") + text.replace("\n", self.newline)

    def having(self, entries: Sequence[str]) -> Notes:
        """Return other entries in the same format."""
        return replace(self, entries=tuple(entries))


def parse(text: str) -> Notes:
    """Parse a file's text with any line endings, without blank entries and surrounding space."""
    ends = _LINE_END.findall(text)
    newline = "\r\n" if ends.count("\r\n") * 2 > len(ends) else "\n"
    lines = _LINE_END.sub("\n", text.removeprefix(BOM)).split("\n")
    return Notes(tuple(_entries(lines)), newline, text.startswith(BOM))


def _entries(lines: Sequence[str]) -> Iterator[str]:
    current: list[str] = []
    for line in [*lines, SEPARATOR]:
        if line.strip() != SEPARATOR:
            current.append(line)
            continue
        if entry := "\n".join(current).strip():
            yield entry
        current = []


def keeps_all(text: str) -> bool:
    """True if parsing and rendering returns ``text``, except for a final newline."""
    ends = set(_LINE_END.findall(text))
    notes = parse(text)
    return len(ends) < 2 and notes.render().rstrip("\r\n") == text.rstrip("\r\n")


def chars_of(entries: Sequence[str]) -> int:
    """Return the code points of the entries with the delimiters between them."""
    return sum(map(len, entries)) + len(DELIMITER) * max(0, len(entries) - 1)


def entry_of(text: str) -> str:
    """``text`` as an entry, line ends as ``\\n``, no white space around it.

    Raises:
        InvalidOperation: it is empty, or it contains a separator line.
    """
    entry = _LINE_END.sub("\n", text.replace("\0", "").replace(BOM, "")).strip()
    if not entry:
        raise InvalidOperation("content is empty; say what to note, or use remove")
    if any(line.strip() == SEPARATOR for line in entry.split("\n")):
        raise InvalidOperation(
            f"content has a line {SEPARATOR!r}, which separates entries; add two entries instead"
        )
    return entry


def entry_id(entry: str) -> str:
    """Return an id that does not reveal the entry: ``#`` and six hexadecimal digits."""
    digest = hashlib.sha256(entry.encode("utf-8", "surrogatepass"))
    return f"#{digest.hexdigest()[:6]}"


def find_entries(entries: Sequence[str], text: str) -> list[int]:
    """Return the indexes of the entries that match a text or an id.

    Equal entries are preferred, then those that contain it, then those that contain it ignoring
    letter case and spacing. A repeated entry is returned once.
    """
    text = _LINE_END.sub("\n", text).strip()
    if not text:
        return []
    if _ID.fullmatch(text):
        found = [n for n, entry in enumerate(entries) if entry_id(entry) == text]
        if found:
            return found[:1]
    folded = _fold(text)
    for matches in (
        lambda entry: entry == text,
        lambda entry: text in entry,
        lambda entry: folded in _fold(entry),
    ):
        found = [n for n, entry in enumerate(entries) if matches(entry)]
        if found:
            return list({entries[n]: n for n in reversed(found)}.values())[::-1]
    return []


def _fold(text: str) -> str:
    return " ".join(text.casefold().split())
