"""What is taken out of a script before its structure is parsed: here-documents and quoted pieces.

The grammar misreads some of them without an error (a body that begins with a backslash, two on one
line, ``> file <<< text``, a document in a substitution). A here-document becomes a plain input
redirect to a marked word, a quoted piece or a substitution a marked part of a word.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .scan import Heredoc, Unreadable, heredoc_at, heredoc_body, skip

DOCUMENT, STRING, PIECE, PIECE_END = "\ue0f0", "\ue0f1", "\ue0f2", "\ue0f3"
"""What the marked words begin with; :func:`values.clean` keeps them out of what comes in."""
_RUN = re.compile(r"[\w ./=:,-]+")
_WORD_START = " \t\n;&|("


@dataclass(slots=True)
class Bare:
    """``script`` with ``< DOCUMENT`` + number, ``< STRING`` + word and ``PIECE`` + number +
    ``PIECE_END``, and what they stand for."""

    script: str
    documents: list[Heredoc]
    pieces: list[str]

    def restore(self, text: str) -> str:
        """A part of :attr:`script` as it was written."""
        if PIECE not in text:
            return text
        return _PIECE.sub(lambda match: self.pieces[int(match[1])], text)


_PIECE = re.compile(f"{PIECE}(\\d+){PIECE_END}")


def take_out(script: str) -> Bare:
    """``script`` as the grammar reads it safely."""
    pieces: list[str] = []
    taken: list[str] = []
    found: list[Heredoc] = []
    pending: list[Heredoc] = []
    i = 0
    while i < len(script):
        if script.startswith("<<<", i):
            i += 3 + len(re.match(r"[ \t]*", script[i + 3 :])[0])  # type: ignore[index]
            pieces.append(f"< {STRING}")
        elif start := heredoc_at(script, i):
            i, document = start
            pending.append(document)
            pieces.append(f"< {DOCUMENT}{len(found) + len(pending) - 1} ")
        elif script[i] == "\n" and pending:
            for document in pending:
                i = heredoc_body(script, i + 1, document) - 1
            found, pending = found + pending, []
            i += 1
            pieces.append("\n")
        else:
            end = _step(script, i)
            piece = script[i:end]
            if piece == "\\\n":
                pass  # a line that goes on
            elif end - i > 1 and piece[0] in "'\"`$\\":
                pieces.append(f"{PIECE}{len(taken)}{PIECE_END}")
                taken.append(piece)
            else:
                pieces.append(piece)
            i = end
    return Bare("".join(pieces), found + pending, taken)


def _step(script: str, i: int) -> int:
    if script[i] == "#" and (i == 0 or script[i - 1] in _WORD_START):
        end = script.find("\n", i)
        return end if end >= 0 else len(script)
    if script.startswith("((", i) and (end := script.find("))", i)) > 0:
        return end + 2
    if script[i : i + 2] in ("$'", '$"'):
        i += 1
    elif script[i] not in "'\"`$\\" and (plain := _RUN.match(script, i)):
        return plain.end()
    try:
        return min(skip(script, i), len(script))
    except Unreadable:
        return i + 1
