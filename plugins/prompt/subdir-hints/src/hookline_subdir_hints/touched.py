"""Finds the paths that a tool call touches, from its arguments alone, without file access."""

from __future__ import annotations

import itertools
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

PATH_ARGUMENTS = ("path", "file_path", "workdir", "cwd")
"""Arguments that are a path (FEATURES, subdir-hints)."""
FOLDER_ARGUMENTS = ("workdir", "cwd")
"""Those of them that are the working directory of a command."""
COMMAND = "command"
"""The argument that holds a shell command."""
MOST_CHARS = 20_000
"""Characters of a command that are parsed."""
MOST_PATHS = 100
"""Paths of one call that are considered."""
NESTED = 3
"""How deep commands within commands (``bash -c '…'``) are followed."""

_SEPARATORS = frozenset(";&|()<>\n")
_MOVES = frozenset({"cd", "pushd"})
_SPEAKERS = frozenset({"echo", "printf"})
_BEFORE_COMMANDS = frozenset(
    {"if", "then", "elif", "else", "while", "until", "do", "!", "{", "time", "command", "builtin"}
)
_ASSIGNED = re.compile(r"(?:-[^=]*|[A-Za-z_]\w*)=(.*)", re.DOTALL)
_UNKNOWN = re.compile(r"[$`\0]")


def touched_paths(arguments: Mapping[str, Any]) -> list[str]:
    """Return the paths in a call's arguments, as written, relative to the workspace or absolute.

    Values that are not strings are skipped. All words of a command count as paths, since those that
    are not lead to no folder; but a command's name and the text it prints count only if they
    contain a slash.
    """
    named = [arguments.get(name) for name in PATH_ARGUMENTS]
    paths = [path for path in named if isinstance(path, str) and path.strip()]
    command = arguments.get(COMMAND)
    if isinstance(command, str):
        folders = [arguments.get(name) for name in FOLDER_ARGUMENTS]
        base = next((f for f in folders if isinstance(f, str) and f.strip()), "")
        paths += command_paths(command, base)
    return list(itertools.islice(dict.fromkeys(paths), MOST_PATHS))


def command_paths(command: str, base: str = "", depth: int = NESTED) -> Iterator[str]:
    """Return the words of a shell command as paths; ``cd`` applies to those after it.

    ``base`` is the folder in which the command runs. Words with a variable or a substitution are
    left out; after ``cd`` to an unknown folder, so are relative ones.
    """
    here: str | None = base
    outside: list[str | None] = []
    for words in _simple_commands(command[:MOST_CHARS]):
        while len(words) > 1 and words[0] in _BEFORE_COMMANDS:
            del words[0]
        if words == ["("]:
            outside.append(here)
        elif words == [")"]:
            here = outside.pop() if outside else here
        elif words[0] in _MOVES:
            here = _moved(here, words)
            if here:
                yield here
        else:
            yield from _word_paths(words, here, depth)


def _word_paths(words: list[str], here: str | None, depth: int) -> Iterator[str]:
    plain = words[0] not in _SPEAKERS
    for before, word in itertools.pairwise(["", *words]):
        if before.startswith("-") and before.endswith("c") and depth and re.search(r"\s", word):
            if here is not None:
                yield from command_paths(word, here, depth - 1)
            continue
        assigned = _ASSIGNED.fullmatch(word)
        found = assigned[1] if assigned else word
        named = "/" in found or (plain and before)
        path = _joined(here, found) if named and not found.startswith("-") else None
        if path:
            yield path


def _moved(here: str | None, words: list[str]) -> str | None:
    """Return where ``cd`` leads; None if that is unknown."""
    target = next((word for word in words[1:] if not word.startswith("-")), None)
    return None if target is None else _joined(here, target)


def _joined(here: str | None, word: str) -> str | None:
    if not word or _UNKNOWN.search(word):
        return None
    if word.startswith(("/", "~")):
        return word
    return None if here is None else os.path.join(here, word)  # noqa: PTH118


def _simple_commands(command: str) -> Iterator[list[str]]:
    """Return the words of each simple command, without quotes; a bracket is a word of its own."""
    words: list[str] = []
    for token in _tokens(command):
        if not token or not _SEPARATORS.issuperset(token):
            words.append(token)
            continue
        if words and not set(token) <= {"<", ">"}:
            yield words
            words = []
        yield from ([bracket] for bracket in token if bracket in "()")
    if words:
        yield words


def _tokens(command: str) -> list[str]:
    lexer = shlex.shlex(command, posix=True, punctuation_chars="".join(_SEPARATORS))
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:  # A quote that is never closed.
        return re.sub(r"['\"\\]", "", command).split()
