"""Which commands of a line run a file that the same line has fetched from the network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from urllib.parse import urlsplit

from .command_patterns import program_names
from .commands import SimpleCommand
from .content import is_interpreter
from .places import Places

_OUTPUT_OPTIONS = ("-o", "-O", "--output", "--output-document", "-P", "--directory-prefix")


def with_downloads(
    commands: Iterable[tuple[SimpleCommand, Places]],
) -> Iterator[tuple[SimpleCommand, Places]]:
    """The commands; those that run a fetched file are marked with ``is_downloaded``."""
    fetched: set[str] = set()
    for command, there in commands:
        if fetched and not fetched.isdisjoint(_run_files(command, there)):
            yield replace(command, is_downloaded=True), there
        else:
            yield command, there
        fetched |= _fetched_files(command, there)


def _run_files(command: SimpleCommand, there: Places) -> set[str]:
    """The files that a command may run: itself, or the first that an interpreter is given."""
    names = [command.words[0].text] if command.words else []
    if is_interpreter(command.program):
        names += [word for word in command.arguments if not word.startswith("-")][:1]
    return _absolute(names, there)


def _fetched_files(command: SimpleCommand, there: Places) -> set[str]:
    """The files that a command writes with what it, or a command before it, fetched."""
    downloaders = program_names("downloaders")
    fetches = command.program in downloaders
    if not fetches and command.input_from.isdisjoint(downloaders):
        return set()
    names = [one.target.text for one in command.redirects if one.writes]
    words = command.arguments
    if command.program == "tee":
        names += [word for word in words if not word.startswith("-")]
    if fetches:
        for at, word in enumerate(words):
            option, _, value = word.partition("=")
            if option in _OUTPUT_OPTIONS:
                names.append(value or (words[at + 1] if at + 1 < len(words) else ""))
            elif word.startswith("-o") and len(word) > 2:
                names.append(word[2:])
            elif "://" in word:
                names.append(_last_part(word))
    return _absolute(names, there)


def _last_part(url: str) -> str:
    """The name under which a download is stored by default."""
    try:
        return urlsplit(url).path.rpartition("/")[2]
    except ValueError:
        return ""


def _absolute(names: Iterable[str], there: Places) -> set[str]:
    return {path for name in names if name and (path := there.absolute(name)) is not None}
