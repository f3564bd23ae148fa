"""From a word with markers to the words that the program gets, and the scripts that run in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .scanner import MARK_END, MARK_START, Piece, Unreadable, scan_double
from .simple_command import UNKNOWN, Word

MAX_BRACE_WORDS = 64
"""Words that braces may expand to."""
KNOWN_VARIABLES = {"HOME": "~", "PWD": "."}
_MARK = re.compile(f"{MARK_START}(\\d+){MARK_END}")
_RANGE = re.compile(r"-?\w+\.\.-?\w+(?:\.\.-?\d+)?")
_SPLIT_OR_GLOB = re.compile(r"[\s*?\[]")
_SIMPLE_NAME = re.compile(r"\w+", re.ASCII)


@dataclass(slots=True)
class Expansion:
    """Expands the words of one script.

    ``read_script`` is called for each command and process substitution, and returns the text that
    stands for it.
    """

    pieces: Sequence[Piece]
    read_script: Callable[[str], str]

    def words(self, raw: str) -> list[Word]:
        """The words that a word as scanned becomes; several if it has braces."""
        return [Word(self.text(one)) for one in expand_braces(raw)]

    def text(self, raw: str) -> str:
        """The text of a word as scanned, without its quotes."""
        parts = []
        at = 0
        for mark in _MARK.finditer(raw):
            parts.append(raw[at : mark.start()])
            piece = self.pieces[int(mark[1])]
            text = self._piece(piece)
            if piece.kind == "command" and _SPLIT_OR_GLOB.search(text):
                text = UNKNOWN  # it becomes several words
            parts.append(text)
            at = mark.end()
        parts.append(raw[at:])
        return "".join(parts)

    def double(self, text: str) -> str:
        """A text as the shell expands it between double quotes."""
        parts = scan_double(text)
        return "".join(part if isinstance(part, str) else self._piece(part) for part in parts)

    def _piece(self, piece: Piece) -> str:
        if piece.kind == "literal":
            return piece.text.replace(UNKNOWN, "")
        if piece.kind == "double":
            return self.double(piece.text)
        if piece.kind in ("command", "process"):
            written = self.read_script(piece.text)
            return written if piece.kind == "command" else UNKNOWN
        if piece.kind == "parameter" and _SIMPLE_NAME.fullmatch(piece.text):
            return KNOWN_VARIABLES.get(piece.text, UNKNOWN)
        self.double(piece.text)  # a default value or an index may hold a substitution
        return UNKNOWN


def expand_braces(raw: str) -> list[str]:
    """The words that ``{a,b}`` makes; a range is one unknown word.

    Raises:
        Unreadable: there are more than :data:`MAX_BRACE_WORDS`.
    """
    found = _brace_group(raw)
    if found is None:
        return [raw]
    start, end, alternatives = found
    tails = expand_braces(raw[end + 1 :])
    heads = [one for inner in alternatives for one in expand_braces(raw[:start] + inner)]
    if len(heads) * len(tails) > MAX_BRACE_WORDS:
        raise Unreadable("its braces make too many words")
    return [head + tail for head in heads for tail in tails]


def _brace_group(raw: str) -> tuple[int, int, list[str]] | None:
    """The first brace expansion of a word: its brackets, and what stands between the commas."""
    start = raw.find("{")
    while start >= 0:
        level, cuts = 0, [start]
        for at in range(start, len(raw)):
            if raw[at] == "{":
                level += 1
            elif raw[at] == "," and level == 1:
                cuts.append(at)
            elif raw[at] == "}":
                level -= 1
                if level == 0:
                    if len(cuts) > 1:
                        ends = [*cuts[1:], at]
                        inner = [raw[a + 1 : b] for a, b in zip(cuts, ends, strict=True)]
                        return start, at, inner
                    if _RANGE.fullmatch(raw[start + 1 : at]):
                        return start, at, [UNKNOWN]
                    break
        start = raw.find("{", start + 1)
    return None
