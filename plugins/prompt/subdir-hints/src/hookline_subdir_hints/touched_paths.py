"""Finds the paths that a tool call touches, from its arguments alone, without file access."""

from __future__ import annotations

import itertools
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

PATH_ARGUMENTS = ("path", "file_path", "workdir", "cwd")
"""Arguments that are a path."""
FOLDER_ARGUMENTS = ("workdir", "cwd")
"""Path arguments that are the working directory of a command."""
COMMAND = "command"
"""The argument that holds a shell command."""
MAX_COMMAND_CHARS = 20_000
"""Characters of a command that are parsed."""
MAX_PATHS = 100
"""Paths of one call that are considered."""
MAX_NESTING = 3
"""Levels of commands within commands (``bash -c '…'``) that are parsed."""

_SEPARATORS = frozenset(";&|()<>\n")
_CD_COMMANDS = frozenset({"cd", "pushd"})
_PRINT_COMMANDS = frozenset({"echo", "printf"})
_COMMAND_PREFIXES = frozenset(
    {"if", "then", "elif", "else", "while", "until", "do", "!", "{", "time", "command", "builtin"}
)
_ASSIGNED = re.compile(r"(?:-[^=]*|[A-Za-z_]\w*)=(.*)", re.DOTALL)
_UNKNOWN = re.compile(r"[$`\0]")


def touched_paths(arguments: Mapping[str, Any]) -> list[str]:
    """Return the paths in a call's arguments, as written, relative to the workspace or absolute.

    Values that are not strings are skipped. All words of a command count as paths, because other
    words lead to no folder. A command's name and the text that it prints count only if they contain
    a slash.
    """
    named = [arguments.get(name) for name in PATH_ARGUMENTS]
    paths = [path for path in named if isinstance(path, str) and path.strip()]
    command = arguments.get(COMMAND)
    if isinstance(command, str):
        folders = [arguments.get(name) for name in FOLDER_ARGUMENTS]
        base = next((f for f in folders if isinstance(f, str) and f.strip()), "")
        paths += command_paths(command, base)
    return list(itertools.islice(dict.fromkeys(paths), MAX_PATHS))


def command_paths(command: str, base: str, depth: int = MAX_NESTING) -> Iterator[str]:
    """Return the words of a shell command as paths; ``cd`` applies to those after it.

    ``base`` is the folder in which the command runs. Words with a variable or a substitution are
    left out, and relative ones after ``cd`` to an unknown folder.
    """
    folder: str | None = base
    outside: list[str | None] = []
    for words in _simple_commands(command[:MAX_COMMAND_CHARS]):
        while len(words) > 1 and words[0] in _COMMAND_PREFIXES:
            del words[0]
        if words == ["("]:
            outside.append(folder)
        elif words == [")"]:
            folder = outside.pop() if outside else folder
        elif words[0] in _CD_COMMANDS:
            folder = _folder_after_cd(folder, words)
            if folder:
                yield folder
        else:
            yield from _word_paths(words, folder, depth)


def _word_paths(words: list[str], folder: str | None, depth: int) -> Iterator[str]:
    plain = words[0] not in _PRINT_COMMANDS
    for before, word in itertools.pairwise(["", *words]):
        if before.startswith("-") and before.endswith("c") and depth and re.search(r"\s", word):
            if folder is not None:
                yield from command_paths(word, folder, depth - 1)
            continue
        assigned = _ASSIGNED.fullmatch(word)
        found = assigned[1] if assigned else word
        named = "/" in found or (plain and before)
        path = _join(folder, found) if named and not found.startswith("-") else None
        if path:
            yield path


def _folder_after_cd(folder: str | None, words: list[str]) -> str | None:
    """Return where ``cd`` leads; None if that is unknown."""
    target = next((word for word in words[1:] if not word.startswith("-")), None)
    return None if target is None else _join(folder, target)


def _join(folder: str | None, word: str) -> str | None:
    if not word or _UNKNOWN.search(word):
        return None
    if word.startswith(("/", "~")):
        return word
    return None if folder is None else os.path.join(folder, word)  # noqa: PTH118


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
    except ValueError:  # an unclosed quote
        return re.sub(r"['\"\\]", "", command).split()
