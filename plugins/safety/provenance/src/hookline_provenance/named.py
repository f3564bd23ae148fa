"""Which files a tool call names: by its effects, and in the words of a command."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from hookline_hookspecs import Effect, ToolCall

MOST = 200
"""Words of a command, and files that one of them stands for, that are looked at."""
_BETWEEN = re.compile(r"[\s;|&<>()\"'`=,@{}$]+")
_GLOB = re.compile(r"[*?\[]")
_TEXT = re.compile(r"\s(?:-\w*[ce]|-m)\s")
"""A program given as text or as a module: there is no file in the target."""
_ON_FILES = ("read", "write", "delete", "execute")


def named(call: ToolCall, effects: Iterable[Effect], folder: Path) -> list[Path]:
    """The files that exist and that the call names, relative ones below ``folder``."""
    command = call.arguments.get("command")
    words = [one.target for one in effects if one.kind in _ON_FILES and one.target]
    if isinstance(command, str):
        words += islice(filter(None, _BETWEEN.split(command)), MOST)
    return list(_existing(words, folder))


def run(effect: Effect, folder: Path) -> Sequence[Path]:
    """The files that an ``execute`` names: a path, or a program's name and its arguments."""
    found = list(_existing([effect.target, *_BETWEEN.split(effect.target)], folder))
    if found or _TEXT.search(f" {effect.target} "):
        return found
    return [folder]  # `make` and the like run what lies there


def _existing(words: Iterable[str], folder: Path) -> Iterator[Path]:
    for word in filter(None, dict.fromkeys(words)):
        try:
            if _GLOB.search(word) and not word.startswith("/"):
                yield from islice(folder.glob(word), MOST)
                continue
            for path in (folder / word, folder / f"{word}.py"):
                if path.exists() and path != folder:
                    yield path
        except (OSError, ValueError, NotImplementedError):
            continue
