"""Which files a tool call names: by its effects, and in the words of a command."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from hookline_hookspecs import Effect, ToolCall

MAX_WORDS = 200
"""Words of a command, and files that one of them stands for, that are looked at."""
_BETWEEN = re.compile(r"[\s;|&<>()\"'`=,@{}$]+")
_GLOB = re.compile(r"[*?\[]")
_TEXT = re.compile(r"\s(?:-\w*[ce]|-m)\s")
"""A program given as text or as a module: there is no file in the target."""
_QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
"""Words in which the shell expands no ``*``."""
_ON_FILES = ("read", "write", "delete", "execute")


def named_files(call: ToolCall, effects: Iterable[Effect], folder: Path) -> list[Path]:
    """The files that exist and that the call names, relative ones below ``folder``."""
    command = call.arguments.get("command")
    words = [one.target for one in effects if one.kind in _ON_FILES and one.target]
    patterns: list[str] = []
    if isinstance(command, str):
        words += _words(command)
        patterns = _words(_QUOTED.sub(" ", command))
    return [*_existing(words, folder), *_matching(patterns, folder)]


def may_name_files(call: ToolCall, effects: Iterable[Effect]) -> bool:
    """Whether there is anything in a call that could name a file."""
    targets = any(effect.kind in _ON_FILES and effect.target for effect in effects)
    return targets or isinstance(call.arguments.get("command"), str)


def executed_files(effect: Effect, folder: Path) -> Sequence[Path]:
    """The files that an ``execute`` names: a path, or a program's name and its arguments."""
    text = _TEXT.search(f" {effect.target} ")
    before = effect.target[: text.start()] if text else effect.target
    words = [effect.target, *_BETWEEN.split(effect.target)]
    found = [*_existing(words, folder), *_matching(_words(before), folder)]
    if found or text:
        return found
    return [folder]  # `make` and the like run what lies there


def _words(text: str) -> list[str]:
    return list(islice(filter(None, _BETWEEN.split(text)), MAX_WORDS))


def _existing(words: Iterable[str], folder: Path) -> Iterator[Path]:
    for word in filter(None, dict.fromkeys(words)):
        try:
            for path in (folder / word, folder / f"{word}.py"):
                if path.exists() and path != folder:
                    yield path
        except (OSError, ValueError):
            continue


def _matching(words: Iterable[str], folder: Path) -> Iterator[Path]:
    """The files that the patterns among some words stand for."""
    for word in dict.fromkeys(words):
        if not _GLOB.search(word) or word.startswith("/"):
            continue
        try:
            yield from islice(folder.glob(word), MAX_WORDS)
        except (OSError, ValueError, NotImplementedError):
            continue
