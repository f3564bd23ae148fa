"""Takes the quoted and substituted pieces out of a script, so that only its structure is left.

The grammar of tree-sitter-bash misreads some quotes and here-documents without reporting an error,
and its scanner can crash on bytes beyond ASCII. It is therefore shown plain words and operators
only: each quoted piece, substitution and escaped character is replaced by a marker, here-documents
by a redirect from a marker, and comments and continued lines are removed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["literal", "double", "command", "process", "parameter", "arithmetic"]
MARK_START, MARK_END = "\ue0f2", "\ue0f3"
"""Around the number of a piece."""
DOCUMENT_MARK, STRING_MARK = "\ue0f0", "\ue0f1"
"""Begin the target of a redirect that stands for a here-document, and for a here-string."""
MAX_DEPTH = 20
"""Nested quotes and substitutions that are followed."""
_RESERVED = re.compile("[\0\ue0f0-\ue0f3]")
_PLAIN = re.compile(r"[\w ./:=,@%+^~-]+")
_WORD_STARTS = " \t\n;&|()"
_HEREDOC = re.compile(r"<<(-?)[ \t]*")
_NAME = re.compile(r"\$(?:[A-Za-z_]\w*|[0-9@*#?$!_-])", re.ASCII)
_COMMAND_START = re.compile(
    r"(?:^|[;&|(\n]|(?:^|[\s;&|(])(?:if|while|until|elif|then|else|do|!|\{))[ \t]*$"
)
_ARITHMETIC = re.compile(r"[\w\s+*/%<>=!&|^~?:,()$\[\]-]*")
_ANSI = re.compile(
    r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|c.|.)", re.S
)
_ANSI_NAMES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b"}
_ANSI_NAMES |= {"f": "\f", "v": "\v"}
_MAX_CODE_POINT = 0x10FFFF


class Unreadable(Exception):
    """A quote or a bracket is never closed, or the script has characters that no script needs."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece that was taken out. ``text`` is its content, for ``parameter`` with its name."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Document:
    """A here-document; the shell expands its text unless it is ``literal``."""

    text: str
    literal: bool


@dataclass(slots=True)
class Scanned:
    """The structure of a script, and the pieces and documents that its markers stand for."""

    structure: str = ""
    pieces: list[Piece] = field(default_factory=list)
    documents: list[Document] = field(default_factory=list)


def scan(script: str) -> Scanned:
    """Return the structure of a script.

    Raises:
        Unreadable: it has an open quote or bracket, or characters that are reserved for markers.
    """
    if _RESERVED.search(script):
        raise Unreadable("it contains characters that cannot be read")
    return _Scanner(script).run()


def scan_double(text: str) -> list[str | Piece]:
    """The parts of a text between double quotes: strings as they are, and its substitutions."""
    parts: list[str | Piece] = []
    at = 0
    while at < len(text):
        if text[at] == "\\" and at + 1 < len(text):
            escaped = text[at + 1]
            parts.append({"\n": ""}.get(escaped, escaped if escaped in '\\"$`' else "\\" + escaped))
            at += 2
        elif text[at] in "$`" and (found := _substitution(text, at, 0, quoted=True)) is not None:
            piece, at = found
            parts.append(piece)
        else:
            parts.append(text[at])
            at += 1
    return parts


class _Scanner:
    def __init__(self, script: str) -> None:
        self.script = script
        self.out: list[str] = []
        self.scanned = Scanned()
        self.pending: list[_Here] = []
        """Here-documents that begin at the next line."""

    def run(self) -> Scanned:
        at = 0
        while at < len(self.script):
            at = self._step(at)
        self.scanned.structure = "".join(self.out)
        return self.scanned

    def _step(self, at: int) -> int:
        """Scan what begins at ``at`` and return where it ends."""
        script = self.script
        char = script[at]
        if char == "\\":
            return self._escape(at)
        if char == "\n":
            self.out.append("\n")
            return self._documents(at + 1)
        if char == "#" and self._at_word_start():
            return _line_end(script, at)
        if char == "<" and script.startswith("<<", at):
            return self._here(at)
        if script.startswith("((", at) and (end := self._arithmetic(at)):
            return end
        found = _piece(script, at, 0)
        if found is not None:
            piece, end = found
            self._mark(piece)
            return end
        if plain := _PLAIN.match(script, at):
            self.out.append(plain[0])
            return plain.end()
        self.out.append(char)
        return at + 1

    def _at_word_start(self) -> bool:
        return not self.out or self.out[-1][-1] in _WORD_STARTS

    def _escape(self, at: int) -> int:
        escaped = self.script[at + 1 : at + 2]
        if escaped != "\n":  # a backslash before a line break continues the line
            self._mark(Piece("literal", escaped))
        return at + 2

    def _mark(self, piece: Piece) -> None:
        self.out.append(f"{MARK_START}{len(self.scanned.pieces)}{MARK_END}")
        self.scanned.pieces.append(piece)

    def _arithmetic(self, at: int) -> int:
        """Take ``(( … ))`` for the command ``:`` with an argument; 0 if it is none."""
        if not _COMMAND_START.search("".join(self.out[-4:])):
            return 0
        end = _close(self.script, at + 2, ")", 1)
        content = self.script[at + 2 : end]
        if not self.script.startswith("))", end) or not _ARITHMETIC.fullmatch(content):
            return 0
        self.out.append(": ")
        self._mark(Piece("arithmetic", content))
        return end + 2

    def _here(self, at: int) -> int:
        if self.script.startswith("<<<", at):
            blanks = re.compile(r"[ \t]*").match(self.script, at + 3)
            self.out.append(f"< {STRING_MARK}")
            return blanks.end() if blanks else at + 3
        here, end = _here_start(self.script, at)
        number = len(self.scanned.documents) + len(self.pending)
        self.pending.append(here)
        self.out.append(f"< {DOCUMENT_MARK}{number} ")
        return end

    def _documents(self, at: int) -> int:
        """Take the here-documents that begin at a line; return where the script continues."""
        for here in self.pending:
            text, at = _document(self.script, at, here)
            self.scanned.documents.append(Document(text, here.literal))
        self.pending = []
        return min(at, len(self.script))


@dataclass(frozen=True, slots=True)
class _Here:
    """The start of a here-document."""

    delimiter: str
    literal: bool
    without_tabs: bool


def _here_start(script: str, at: int) -> tuple[_Here, int]:
    """The here-document that begins with the ``<<`` at ``at``, and where its delimiter ends."""
    start = _HEREDOC.match(script, at)
    if start is None:
        raise Unreadable("a here-document cannot be read")
    delimiter, literal, end = _delimiter(script, start.end())
    return _Here(delimiter, literal, bool(start[1])), end


def _document(script: str, at: int, here: _Here) -> tuple[str, int]:
    """The text of a here-document whose first line begins at ``at``, and where the next begins.

    A backslash joins a line with the next, also when it is compared with the delimiter, unless the
    document is literal.
    """
    lines: list[str] = []
    joined = ""
    while at < len(script):
        end = _line_end(script, at)
        line, at = script[at:end], end + 1
        if here.without_tabs:
            line = line.lstrip("\t")
        if not here.literal and (len(line) - len(line.rstrip("\\"))) % 2:
            joined += line[:-1]
            continue
        line, joined = joined + line, ""
        if line == here.delimiter:
            break
        lines.append(line)
    if joined:
        lines.append(joined)
    return "\n".join(lines), min(at, len(script))


def _delimiter(script: str, at: int) -> tuple[str, bool, int]:
    """The delimiter of a here-document, whether it was quoted, and where it ends."""
    text, literal = [], False
    while at < len(script) and script[at] not in " \t\n;&|()<>":
        if script.startswith("\\\n", at):  # the line goes on
            at += 2
        elif script[at] == "\\":
            literal = True
            text.append(script[at + 1 : at + 2])
            at += 2
        elif script[at] in "'\"":
            literal = True
            end = script.find(script[at], at + 1)
            if end < 0:
                raise Unreadable("a quote is never closed")
            text.append(script[at + 1 : end])
            at = end + 1
        elif script[at] in "$`":
            raise Unreadable("the delimiter of a here-document is not plain")
        else:
            text.append(script[at])
            at += 1
    if not text:
        raise Unreadable("a here-document has no delimiter")
    if any(set("\\\n") & set(part) for part in text):
        raise Unreadable("the delimiter of a here-document is not plain")
    return "".join(text), literal, at


def _piece(script: str, at: int, depth: int) -> tuple[Piece, int] | None:
    """The piece that begins at ``at`` outside double quotes, and where it ends; None if none."""
    if script[at] == "'":
        end = script.find("'", at + 1)
        if end < 0:
            raise Unreadable("a quote is never closed")
        return Piece("literal", script[at + 1 : end]), end + 1
    if script.startswith("$'", at):
        end = _ansi_end(script, at + 2)
        return Piece("literal", _ansi(script[at + 2 : end])), end + 1
    if script[at] == '"' or script.startswith('$"', at):
        start = script.index('"', at) + 1
        end = _double_end(script, start, depth + 1)
        return Piece("double", script[start:end]), end + 1
    if script.startswith(("<(", ">("), at):
        end = _close(script, at + 2, ")", depth + 1)
        return Piece("process", script[at + 2 : end]), end + 1
    return _substitution(script, at, depth) if script[at] in "$`" else None


def _substitution(
    script: str, at: int, depth: int, *, quoted: bool = False
) -> tuple[Piece, int] | None:
    """The substitution that begins with the ``$`` or backtick at ``at``; None if it is a text.

    ``quoted``: it stands between double quotes.
    """
    if script[at] == "`":
        end = at + 1
        while end < len(script) and script[end] != "`":
            end += 2 if script[end] == "\\" else 1
        if end >= len(script):
            raise Unreadable("a backtick is never closed")
        escaped = r'\\([\\$`"])' if quoted else r"\\([\\$`])"
        return Piece("command", re.sub(escaped, r"\1", script[at + 1 : end])), end + 1
    if script.startswith("$((", at):
        end = _close(script, at + 3, ")", depth + 1)
        if script.startswith("))", end):
            return Piece("arithmetic", script[at + 3 : end]), end + 2
    if script.startswith("$(", at):
        end = _close(script, at + 2, ")", depth + 1)
        return Piece("command", script[at + 2 : end]), end + 1
    if script.startswith("${", at):
        end = _close(script, at + 2, "}", depth + 1, quoted=quoted)
        return Piece("parameter", script[at + 2 : end]), end + 1
    if name := _NAME.match(script, at):
        return Piece("parameter", name[0][1:]), name.end()
    return None


def _close(script: str, at: int, closing: str, depth: int, *, quoted: bool = False) -> int:
    """Where the bracket that was opened before ``at`` is closed; ``quoted`` for ``${`` between
    double quotes, where a single quote is sometimes one and sometimes a character."""
    if depth > MAX_DEPTH:
        raise Unreadable("it is nested too deeply")
    opening, level = {")": "(", "}": "{"}[closing], 0
    pending: list[_Here] = []
    while at < len(script):
        char = script[at]
        if char == "\\":
            at += 2
        elif char == "#" and closing == ")" and script[at - 1] in _WORD_STARTS:
            at = _line_end(script, at)
        elif char == "\n" and pending:
            at += 1
            for here in pending:
                _, at = _document(script, at, here)
            pending = []
        elif closing == ")" and script.startswith("<<", at) and script[at + 2 : at + 3] != "<":
            here, at = _here_start(script, at)
            pending.append(here)
        elif quoted and char == "'":
            raise Unreadable("a quote in ${…} between quotes cannot be read")
        elif (found := _piece(script, at, depth)) is not None:
            at = found[1]
        elif char == closing and level == 0:
            return at
        else:
            level += (char == opening) - (char == closing)
            at += 1
    raise Unreadable("a bracket is never closed")


def _line_end(script: str, at: int) -> int:
    end = script.find("\n", at)
    return end if end >= 0 else len(script)


def _double_end(script: str, at: int, depth: int) -> int:
    if depth > MAX_DEPTH:
        raise Unreadable("it is nested too deeply")
    while at < len(script):
        if script[at] == '"':
            return at
        if script[at] == "\\":
            at += 2
        elif script[at] in "$`" and (found := _substitution(script, at, depth, quoted=True)):
            at = found[1]
        else:
            at += 1
    raise Unreadable("a quote is never closed")


def _ansi_end(script: str, at: int) -> int:
    while at < len(script) and script[at] != "'":
        at += 2 if script[at] == "\\" else 1
    if at >= len(script):
        raise Unreadable("a quote is never closed")
    return at


def _ansi(text: str) -> str:
    def decode(match: re.Match[str]) -> str:
        escape = match[1]
        if escape[0] in "xuU" and len(escape) > 1:
            return _character(int(escape[1:], 16), bytewise=escape[0] == "x")
        if escape[0] in "01234567":
            return _character(int(escape, 8) & 0xFF, bytewise=True)
        if escape[0] == "c" and len(escape) == 2:
            return _character(ord(escape[1].upper()) & 0x1F, bytewise=True)
        return _ANSI_NAMES.get(escape, escape if escape in "\\'\"?" else "\\" + escape)

    return _ANSI.sub(decode, text)


def _character(code: int, *, bytewise: bool) -> str:
    """The character of an escape. Raises ``Unreadable`` for what ends a word early, or is only a
    part of a character."""
    if code == 0 or code > _MAX_CODE_POINT or (bytewise and code > 0x7F):
        raise Unreadable("an escape cannot be read")
    return chr(code)
