"""Parses JSON5: comments, trailing commas, single quotes, bare keys, other numbers.

The text is rewritten to JSON token by token, then parsed by :mod:`json`, which limits the depth.
"""

from __future__ import annotations

import json
import re
from typing import Any

_PART = re.compile(
    r"""
      (?P<space>[\s\ufeff]+|//[^\n\r\u2028\u2029]*|/\*.*?\*/)
    | (?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    | (?P<hex>[+-]?0[xX][0-9a-fA-F]+)
    | (?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    | (?P<word>[+-]?[^\W\d][\w$]*|\$[\w$]*)
    | (?P<mark>[{}\[\]:,])
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|\r\n|.)", re.DOTALL)
_SHORT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0"}
_LINE_ENDS = ("\n", "\r", "\r\n", "\u2028", "\u2029")


def loads(text: str) -> Any:
    """Parse JSON5. Raises ``ValueError``, or ``RecursionError`` if it is nested too deeply."""
    out: list[str] = []
    at = 0
    while at < len(text):
        found = _PART.match(text, at)
        if found is None:
            line = text.count("\n", 0, at) + 1
            raise ValueError(f"line {line}: unexpected {text[at : at + 10]!r}")
        at = found.end()
        part = found[0]
        match found.lastgroup:
            case "text":
                out.append(json.dumps(_unescape(part[1:-1])))
            case "hex":
                out.append(str(int(part, 16)))
            case "number":
                out.append(_number(part))
            case "word":
                out.append(_word(part))
            case "mark":
                if part in "}]" and out[-1:] == [","] and out[-2:-1] not in (["["], ["{"], [","]):
                    out.pop()
                out.append(part)
    return json.loads(_quote_keys(out))


def _unescape(text: str) -> str:
    def plain(found: re.Match[str]) -> str:
        code = found[1]
        if len(code) > 2 and code[0] in "ux":
            return chr(int(code[1:], 16))
        if code[0] == "x" and len(code) == 3:
            return chr(int(code[1:], 16))
        return "" if code in _LINE_ENDS else _SHORT.get(code, code)

    return _ESCAPE.sub(plain, text)


def _number(part: str) -> str:
    part = part.lstrip("+")
    sign, digits = ("-", part[1:]) if part.startswith("-") else ("", part)
    digits = re.sub(r"^\.", "0.", digits)
    return sign + re.sub(r"\.(?=$|[eE])", ".0", digits)


def _word(part: str) -> str:
    bare = part.lstrip("+")
    if bare in ("true", "false", "null", "Infinity", "-Infinity", "NaN"):
        return bare
    if bare == "-NaN":
        return "NaN"
    return f"\0{part}"  # a key, or an error


def _quote_keys(out: list[str]) -> str:
    """Join the tokens to JSON; quote every token before a colon, because it is a key."""
    for number, part in enumerate(out):
        following = out[number + 1] if number + 1 < len(out) else ""
        if following == ":" and not part.startswith('"'):
            out[number] = json.dumps(part.removeprefix("\0"))
        elif part.startswith("\0"):
            raise ValueError(f"expected a value, got {part[1:40]!r}")
    return "".join(f" {one}" for one in out)
