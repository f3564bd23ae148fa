"""Finding where a quoted or bracketed piece of a word ends, and what escapes in it mean."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ANSI = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c(.)|(.))",
    re.DOTALL,
)
_LETTERS = {
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "?": "?",
}


@dataclass(slots=True)
class Heredoc:
    """A here-document: its end mark, and its body once that is read."""

    mark: str
    literal: bool
    tabs: bool
    body: str = ""


_HEREDOC = re.compile(r"<<(-?)[ \t]*((?:'[^'\n]*'|\"[^\"\n]*\"|\\(?:.|\n)|[^\s'\"\\;&|<>()])+)")


def heredoc_at(text: str, i: int) -> tuple[int, Heredoc] | None:
    """The here-document operator at ``i`` and where it ends, if there is one."""
    if not text.startswith("<<", i) or text.startswith("<<<", i):
        return None
    match = _HEREDOC.match(text, i)
    if not match:
        return None
    word = match[2].replace("\\\n", "")
    mark = re.sub(r"['\"]|\\(.)", lambda m: m[1] or "", word)
    return match.end(), Heredoc(mark, any(c in word for c in "'\"\\"), bool(match[1]))


def heredoc_body(text: str, i: int, document: Heredoc) -> int:
    """Read the body that begins at ``i``; where the text goes on after its end mark."""
    lines: list[str] = []
    while i < len(text):
        end = text.find("\n", i)
        end = len(text) if end < 0 else end
        line = text[i:end].lstrip("\t") if document.tabs else text[i:end]
        i = end + 1
        if line == document.mark:
            break
        lines.append(line + "\n")
    document.body = "".join(lines)
    return i


class Unreadable(Exception):
    """A quote or bracket that is never closed."""


def ansi(text: str) -> str:
    """What ``$'…'`` and ``printf`` make of escapes (bash manual, ANSI-C Quoting)."""

    def one(match: re.Match[str]) -> str:
        hexa, u4, u8, octal, control, letter = match.groups()
        if hexa or u4 or u8:
            return _character(int(hexa or u4 or u8, 16))
        if octal:
            return chr(int(octal, 8) & 0xFF)
        if control:
            return chr(ord(control) & 0x1F)
        return _LETTERS.get(letter, "\\" + letter)

    # A byte above 127 may be part of a longer character; bash prints the bytes.
    return _ANSI.sub(one, text)


def _character(code: int) -> str:
    return chr(code) if code < 0xD800 or 0xDFFF < code < 0x110000 else "\ufffd"


def single_end(text: str, start: int) -> int:
    """The index of the quote that closes the one before ``start``."""
    end = text.find("'", start)
    if end < 0:
        raise Unreadable("a single quote is never closed")
    return end


def ansi_end(text: str, start: int) -> int:
    """The same for ``$'…'``, where a backslash can protect a quote."""
    i = start
    while i < len(text) and text[i] != "'":
        i += 2 if text[i] == "\\" else 1
    if i >= len(text):
        raise Unreadable("an ANSI-C string is never closed")
    return i


def double_end(text: str, start: int) -> int:
    """The index of the quote that closes a double-quoted string begun before ``start``."""
    i = start
    while i < len(text):
        if text[i] == '"':
            return i
        i = _skip_in_double(text, i)
    raise Unreadable("a double quote is never closed")


def _skip_in_double(text: str, i: int) -> int:
    if text[i] == "\\":
        return i + 2
    if text[i] == "`":
        return backtick_end(text, i + 1) + 1
    if text.startswith("$(", i):
        return bracket_end(text, i + 2, ")") + 1
    if text.startswith("${", i):
        return bracket_end(text, i + 2, "}") + 1
    return i + 1


def backtick_end(text: str, start: int) -> int:
    """The index of the backtick that closes the one before ``start``."""
    i = start
    while i < len(text) and text[i] != "`":
        i += 2 if text[i] == "\\" else 1
    if i >= len(text):
        raise Unreadable("a backtick is never closed")
    return i


def bracket_end(text: str, start: int, close: str) -> int:
    """The index of the ``close`` that ends a bracket opened before ``start``."""
    opening = {")": "(", "}": "{"}[close]
    depth, i = 1, start
    pending: list[Heredoc] = []
    while i < len(text):
        char = text[i]
        if close == ")" and (found := heredoc_at(text, i)):
            i = found[0]
            pending.append(found[1])
            continue
        if char == "\n" and pending:
            i += 1
            for document in pending:
                i = heredoc_body(text, i, document)
            pending = []
            continue
        if char == close:
            depth -= 1
            if not depth:
                return i
        if char == opening:
            depth += 1
        i = skip(text, i)
    raise Unreadable(f"a {opening!r} is never closed")


def skip(text: str, i: int) -> int:
    """The index after the character, escape or quoted piece at ``i``."""
    char = text[i]
    if char == "\\":
        return i + 2
    if char == "'":
        ansi_string = i > 0 and text[i - 1] == "$"
        return (ansi_end if ansi_string else single_end)(text, i + 1) + 1
    if char == '"':
        return double_end(text, i + 1) + 1
    if char == "`":
        return backtick_end(text, i + 1) + 1
    if text.startswith("${", i):
        return bracket_end(text, i + 2, "}") + 1
    if text.startswith("$(", i):
        return bracket_end(text, i + 2, ")") + 1
    return i + 1
