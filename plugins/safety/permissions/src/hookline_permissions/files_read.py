"""Which files a command can read, by its words and ``data/readers.yaml``.

A command is known if every program in it opens nothing but files among its words, and each of these
exists under exactly that name. Otherwise it can have read any file that the sandbox shows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from hookline_hookspecs import Paths, ToolCall

from .command_patterns import program_names
from .commands import ParsedCommand, SimpleCommand
from .coverage import with_folders
from .places import HARMLESS_DEVICES, SHARED_MEMORY, Places
from .rule_set import parsed_command, places_of

_PLAIN_PATH = re.compile(r"[^\0*?\[\]{}~!\\'\"$`]+")
"""What the shell takes for one name, whatever files exist."""
_ENTERS_FOLDER = re.compile(r"\s*cd\s+[\w./-]+\s*(?:&&|;|\n)")
_FIND_ACTIONS = ("-exec", "-ok", "-fprint", "-fls", "-files0-from")
_OWN_VIEW = ("/proc/", "/dev/")
"""Folders whose names mean other files in another process."""


class _Unknown(Exception):
    """It cannot be known what the command reads."""


@cache
def _table() -> Mapping[str, Any]:
    import yaml

    text = files(__package__).joinpath("data", "readers.yaml").read_text("utf-8")
    loaded: Mapping[str, Any] = yaml.load(text, yaml.CSafeLoader)
    return loaded


def files_read(call: ToolCall, paths: Paths) -> list[Path] | None:
    """Return the files that a call of ``bash`` can read; None if that cannot be known."""
    command = call.arguments.get("command")
    if not isinstance(command, str):
        return []
    parsed = parsed_command(command)
    if parsed.unread or parsed.functions or not _folder_is_known(command, parsed):
        return None
    try:
        found = [
            Path(file)
            for part, there in with_folders(parsed, places_of(call, paths))
            for file in _of_part(part, there)
        ]
    except _Unknown:
        return None
    return list(dict.fromkeys(found))


def _folder_is_known(command: str, parsed: ParsedCommand) -> bool:
    """True without ``cd``, or with one that stands first and holds for all that follows."""
    programs = [part.program for part in parsed.commands]
    moves = sum(program in ("cd", "pushd", "popd") for program in programs)
    return not moves or (moves == 1 and bool(_ENTERS_FOLDER.match(command)))


def _of_part(part: SimpleCommand, places: Places) -> Iterator[str]:
    if part.wrappers or not set(part.assignments) <= program_names("harmless_variables"):
        raise _Unknown
    for redirect in part.redirects:
        if not redirect.writes:
            yield from _file(redirect.target.text, places)
    if not part.words:
        return
    folder, slash, _ = part.words[0].text.rpartition("/")
    if slash and folder not in program_names("installed_in"):
        raise _Unknown
    if part.program == "git":
        _require_git(part)
    elif part.program == "find":
        if any(word.startswith(_FIND_ACTIONS) for word in part.arguments):
            raise _Unknown
    elif part.program in _table()["no_content"]:
        if any(word.startswith("--") for word in part.arguments):
            raise _Unknown
    else:
        creates = part.program in _table()["creates"]
        for operand in _operands(part):
            yield from _file(operand, places, may_be_new=creates)


def _require_git(part: SimpleCommand) -> None:
    """Raise unless it is a subcommand of git that prints neither content nor messages."""
    known = _table()["git"].get(part.arguments[0] if part.arguments else "")
    options = {word for word in part.arguments[1:] if word.startswith("-")}
    if known is None or not options <= {*known}:
        raise _Unknown


def _operands(part: SimpleCommand) -> Sequence[str]:
    """The words of a reader that are files."""
    known = _table()["readers"].get(part.program)
    if known is None:
        raise _Unknown
    operands, words = list[str](), iter(part.arguments)
    for word in words:
        if word == "-" or not word.startswith("-"):
            operands.append(word)
        elif word[1] in known.get("values", ""):
            if len(word) == 2:
                next(words, None)
        elif not set(word[1:]) <= set(known["flags"]):
            raise _Unknown
    for key in ("first", "more"):
        if key not in known or not operands:
            continue
        if not re.fullmatch(known[key], operands.pop(0)):
            raise _Unknown
    return operands


def _file(word: str, places: Places, *, may_be_new: bool = False) -> Iterator[str]:
    """The file that a word names; nothing for standard input and harmless devices."""
    if word == "-" or word in HARMLESS_DEVICES - {"/dev/fd", "/dev/stdin"}:
        return
    path = places.absolute(word) if _PLAIN_PATH.fullmatch(word) else None
    if path is None or (path.startswith(_OWN_VIEW) and not path.startswith(SHARED_MEMORY)):
        raise _Unknown
    if may_be_new and not os.path.lexists(path):
        return
    if not os.path.isfile(path):  # noqa: PTH113
        raise _Unknown
    yield path
