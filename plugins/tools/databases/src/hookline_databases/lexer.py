"""Splits SQL into tokens as each engine does, and removes comments.

The text that is checked is also the text that is sent, so that both sides see the same tokens.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from hookline_hookspecs import Refused, ToolError

TokenKind = Literal["word", "name", "text", "number", "sign"]
MAX_STATEMENT_CHARS = 100_000
_SPACE = " \t\n\r\f"
_WORD = re.compile(r"[A-Za-z_\u0080-\U0010ffff][A-Za-z0-9_$\u0080-\U0010ffff]*")
_NUMBER = re.compile(r"(?:0[xX][0-9A-Fa-f_]+|(?:\d[\d_]*)?\.?\d[\d_]*(?:[eE][+-]?\d+)?\.?)")
_DOLLAR = re.compile(r"\$(?:[A-Za-z_\u0080-\U0010ffff][A-Za-z0-9_\u0080-\U0010ffff]*)?\$")
_VERSIONED = re.compile(r"/\*M?!")


@dataclass(frozen=True, slots=True)
class SqlToken:
    """``word`` is a bare name or keyword, ``name`` a quoted one, ``text`` a string, ``sign`` one
    character. ``value`` is its meaning, ``raw`` its text."""

    kind: TokenKind
    value: str
    raw: str
    spaced: bool
    """Whether whitespace or a comment precedes it."""

    @property
    def upper(self) -> str:
        """A bare word in capitals; empty for anything else."""
        return self.value.upper() if self.kind == "word" else ""


class SqlLexer:
    """Reads one text. ``engine`` is ``sqlite``, ``duckdb``, ``postgres`` or ``mysql``."""

    def __init__(self, engine: str, text: str) -> None:
        self._text = text
        self._at = 0
        self._engine = engine
        self._dollars = engine in ("postgres", "duckdb")
        self._names = {"sqlite": '"`[', "duckdb": '"', "postgres": '"', "mysql": "`"}[engine]
        self._texts = "'\"" if engine == "mysql" else "'"

    def tokens(self) -> Iterator[SqlToken]:
        """Yield the tokens.

        Raises:
            ToolError: a quote or a comment does not end.
            Refused: engines may read it differently.
        """
        if len(self._text) > MAX_STATEMENT_CHARS:
            raise ToolError(f"the statement is longer than {MAX_STATEMENT_CHARS:,} characters")
        while True:
            spaced = self._skip()
            if self._at >= len(self._text):
                return
            yield self._next(spaced)

    def _skip(self) -> bool:
        """Skip whitespace and comments; return whether there were any."""
        start, text = self._at, self._text
        while self._at < len(text):
            if text[self._at] in _SPACE:
                self._at += 1
            elif self._is_line_comment():
                ends = [n for n in (text.find("\n", self._at), text.find("\r", self._at)) if n >= 0]
                if ends and text[min(ends)] == "\r" and text[min(ends) : min(ends) + 2] != "\r\n":
                    raise Refused("a comment ends with a lone carriage return; use line feeds")
                self._at = min(ends) if ends else len(text)
            elif text.startswith("/*", self._at):
                self._comment()
            else:
                break
        return self._at > start

    def _is_line_comment(self) -> bool:
        text, at = self._text, self._at
        if self._engine != "mysql":
            return text.startswith("--", at)
        return text[at] == "#" or (
            text.startswith("--", at) and text[at + 2 : at + 3] in ("", *_SPACE)
        )

    def _comment(self) -> None:
        if _VERSIONED.match(self._text, self._at):
            raise Refused("comments that begin with /*! or /*M! are run by MySQL and MariaDB")
        end = self._text.find("*/", self._at + 2)
        if end < 0:
            raise ToolError("a comment does not end: */ is missing")
        if "/*" in self._text[self._at + 2 : end]:
            raise Refused("there is a comment inside a comment, which engines read differently")
        self._at = end + 2

    def _next(self, spaced: bool) -> SqlToken:
        text, at = self._text, self._at
        char = text[at]
        if char in self._texts:
            return self._quoted("text", char, spaced, escapes=self._engine == "mysql")
        if char in self._names:
            return self._quoted("name", "]" if char == "[" else char, spaced)
        if self._dollars and (mark := _DOLLAR.match(text, at)):
            return self._dollar(mark[0], spaced)
        if word := _WORD.match(text, at):
            return self._word(word[0], spaced)
        if (char.isdigit() or char == ".") and (number := _NUMBER.match(text, at)):
            return self._take("number", number[0], number[0], spaced)
        if not char.isascii() or not char.isprintable():
            raise Refused(f"the character U+{ord(char):04X} outside of quotes is not readable")
        return self._take("sign", char, char, spaced)

    def _word(self, word: str, spaced: bool) -> SqlToken:
        for char in word:
            if not char.isascii() and unicodedata.category(char)[0] in "CZ":
                raise Refused(
                    f"U+{ord(char):04X} ({unicodedata.name(char, 'unnamed')}) is outside of "
                    "quotes, where it is invisible; use a plain space or leave it out"
                )
        after = self._text[self._at + len(word) : self._at + len(word) + 2]
        if self._engine == "postgres" and word.upper() == "E" and after[:1] == "'":
            self._at += 1
            return self._quoted("text", "'", spaced, escapes=True, prefix=word)
        if word.upper() == "U" and after[:1] == "&" and after[1:] in ("'", '"'):
            raise Refused("U&\"…\" and U&'…' hide what they name; write the characters themselves")
        return self._take("word", word, word, spaced)

    def _quoted(
        self, kind: TokenKind, end: str, spaced: bool, *, escapes: bool = False, prefix: str = ""
    ) -> SqlToken:
        text, at = self._text, self._at + 1
        value: list[str] = []
        while at < len(text):
            char = text[at]
            if escapes and char == "\\" and at + 1 < len(text):
                value.append(text[at + 1])
                at += 2
            elif char != end:
                value.append(char)
                at += 1
            elif end != "]" and text[at + 1 : at + 2] == end:
                value.append(end)
                at += 2
            else:
                start = self._at - len(prefix)
                self._at = at + 1
                return SqlToken(kind, "".join(value), text[start : self._at], spaced)
        raise ToolError(f"a quote does not end: {end} is missing")

    def _dollar(self, mark: str, spaced: bool) -> SqlToken:
        end = self._text.find(mark, self._at + len(mark))
        if end < 0:
            raise ToolError(f"a quote does not end: {mark} is missing")
        raw = self._text[self._at : end + len(mark)]
        return self._take("text", raw[len(mark) : -len(mark)], raw, spaced)

    def _take(self, kind: TokenKind, value: str, raw: str, spaced: bool) -> SqlToken:
        self._at += len(raw)
        return SqlToken(kind, value, raw, spaced)


def tokenize(engine: str, sql: str) -> list[SqlToken]:
    """Return the tokens of the only statement in ``sql``, without the semicolons at its end.

    Raises:
        Refused: there are several statements, or something that engines read differently.
        ToolError: it is empty, too long, or something does not end.
    """
    if "\0" in sql:
        raise Refused("the statement contains a NUL character")
    try:
        sql.encode("utf-8")
    except UnicodeEncodeError:
        raise Refused("the statement contains half of a surrogate pair") from None
    tokens = list(SqlLexer(engine, sql).tokens())
    while tokens and tokens[-1].raw == ";":
        tokens.pop()
    if not tokens:
        raise ToolError("sql is empty")
    if any(token.raw == ";" for token in tokens):
        raise Refused("one statement at a time; these are several")
    return tokens


def join_tokens(tokens: list[SqlToken]) -> str:
    """Return the text of tokens, with comments replaced by spaces."""
    return "".join((" " if token.spaced else "") + token.raw for token in tokens).strip()
