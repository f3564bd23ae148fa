"""Options of ordinary programs that make them run a command (``hooks`` in interpreters.yaml)."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from . import guesses, interpreters
from .record import shown
from .shell import Shell
from .tables import base_name, load


def judge(name: str, argv: Sequence[str], shell: Shell) -> None:
    """Options of ordinary programs that make them run a command."""
    hooks = load("interpreters")["hooks"].get(name)
    if not hooks:
        return
    for script in _hooked(hooks, argv):
        if script and not script[0].isdigit():
            interpreters.run_code(script.removeprefix("!"), shell.child(), "", shown(argv))
    for pattern in filter(None, (hooks.get("guess"),)):
        for arg in argv[1:]:
            if match := re.search(pattern, arg, re.DOTALL):
                guesses.suspect(match[1], shell, shown(argv))
    for option, value in itertools.pairwise(argv):
        if option in hooks.get("listed", ()):
            shell.follow(value.split(","), "")


def _hooked(hooks: Mapping[str, Any], argv: Sequence[str]) -> Iterator[str]:
    for index, arg in enumerate(argv[1:], 1):
        for prefix in hooks.get("prefixes", ()):
            if arg.startswith(prefix):
                yield arg[len(prefix) :].removeprefix("exec=")
        if arg in hooks.get("values", ()) and index + 1 < len(argv):
            yield argv[index + 1]
        if "pattern" in hooks and (match := re.search(hooks["pattern"], arg, re.DOTALL)):
            yield next((group for group in match.groups() if group), "")
        if "pairs" in hooks and (pair := _pair(hooks["pairs"]).fullmatch(arg)):
            yield from _setting(pair[1], pair[pair.re.groups], argv[index + 1 : index + 2], argv)


@cache
def _pair(names: str) -> re.Pattern[str]:
    return re.compile(rf"(?:--\w+=)?({names})(?:=(.*))?", re.DOTALL | re.IGNORECASE)


def _setting(
    name: str, value: str | None, after: Sequence[str], argv: Sequence[str]
) -> Iterator[str]:
    """The script that the setting ``name`` holds, its value being attached or the next word."""
    script = value if value is not None else "".join(after)
    if re.match(r"(?i)alias\.|credential", name) and not script.startswith("!"):
        yield f"{base_name(argv[0])} {script}" if name.lower().startswith("alias") else ""
        return
    yield script
