"""Statements that a database's client is given: which of them throw data away.

The expressions stand in ``interpreters.yaml`` under ``statements``.
"""

from __future__ import annotations

import re
from functools import cache

from .shell import Shell
from .tables import load

_TO_THE_END_OF_LINE = re.compile(r"--[^\n]*")


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {name: re.compile(text) for name, text in load("interpreters")["statements"].items()}


def judge(kind: str, code: str, shell: Shell, command: str) -> None:
    """Ask if ``code``, in the language ``kind`` of a database, throws data away."""
    if kind == "sql":
        code = _TO_THE_END_OF_LINE.sub(" ", _without_comments(code))
    if found := _patterns()[kind].search(code):
        what = " ".join(found[0].split())[:60]
        shell.record.effect("delete", what)
        shell.record.add("ask", f"{command} throws away data: {what!r}")


def _without_comments(code: str) -> str:
    """``code`` with a blank for each ``/* … */``."""
    parts, rest = [], code
    while "/*" in rest:
        before, _, after = rest.partition("/*")
        _, end, after = after.partition("*/")
        if not end:
            break
        parts.append(before)
        rest = after
    return " ".join([*parts, rest])
