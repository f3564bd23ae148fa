"""The file that a command runs, and the digest of what is in it.

A grant for a script, a Makefile or a script of package.json holds as long as its text is the same.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from hookline_hookspecs.bound_files import read_bound_file

from .command_patterns import Arguments
from .commands import SimpleCommand
from .places import Places

DIGEST_CHARS = 16
"""Hexadecimal digits of a digest in a rule."""
MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_CODE_OPTIONS = {"-c", "-e", "-m", "--eval", "--command", "--print", "-p", "-r", "-E"}
"""Options of interpreters after which there is no file, or code beside it."""
_SCRIPT_RUNNERS = {"npm", "pnpm", "yarn", "bun"}
_PACKAGE_COMMANDS = {"test", "start", "stop", "restart"}
"""Commands of npm that run the script of the same name."""
_INTERPRETERS = {"sh", "bash", "dash", "zsh", "ksh", "fish", "source", "."}
_INTERPRETERS |= {
    "python",
    "python2",
    "python3",
    "perl",
    "ruby",
    "node",
    "deno",
    "bun",
    "php",
    "lua",
}


@dataclass(frozen=True, slots=True)
class RunContent:
    """What a command runs: the file, a part of it (a script's name), and the digest of its text."""

    path: Path
    part: str
    digest: str

    @property
    def name(self) -> str:
        """The file, and the part of it, as a person reads it."""
        return f"{self.part!r} in {self.path.name}" if self.part else self.path.name


def is_interpreter(program: str) -> bool:
    """True for a program that runs the file that is its first argument."""
    return program in _INTERPRETERS or program.startswith(("python3.", "pypy"))


def run_content(command: SimpleCommand, places: Places) -> RunContent | None:
    """What a command runs from a file; None if it runs no file, or the file cannot be read."""
    if not all(word.is_known for word in command.words) or not command.words:
        return None
    program, arguments = command.program, Arguments.of(command)
    written = command.words[0].text
    if program in _SCRIPT_RUNNERS and (script := _package_script(arguments)):
        return _script_of_package(script, places)
    if program in ("make", "gmake"):
        return _makefile(command, places)
    if is_interpreter(program):
        if arguments.leading & _CODE_OPTIONS or not arguments.operands:
            return None
        return _file(arguments.operands[0], places)
    return _file(written, places) if "/" in written else None


def matches_digest(command: SimpleCommand, places: Places, digest: str) -> bool:
    """True if what a command runs still has the content with this digest."""
    content = run_content(command, places)
    return content is not None and content.digest.startswith(digest)


def _package_script(arguments: Arguments) -> str:
    operands = arguments.operands
    if len(operands) > 1 and operands[0] in ("run", "run-script"):
        return operands[1]
    return operands[0] if operands and operands[0] in _PACKAGE_COMMANDS else ""


def _makefile(command: SimpleCommand, places: Places) -> RunContent | None:
    words = command.arguments
    for option in ("-f", "--file", "--makefile"):
        if option in words[:-1]:
            return _file(words[words.index(option) + 1], places)
    if any(word.startswith(("-C", "-f", "--directory", "--file", "--makefile")) for word in words):
        return None
    found = (_file(name, places) for name in MAKEFILES)
    return next((content for content in found if content is not None), None)


def _script_of_package(script: str, places: Places) -> RunContent | None:
    path = places.joined("package.json")
    file = read_bound_file(path, keep_text=True) if path is not None else None
    if path is None or file is None or file.text is None:
        return None
    try:
        scripts = json.loads(file.text)["scripts"]
        texts = [scripts.get(f"{before}{script}") for before in ("pre", "", "post")]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    if not isinstance(texts[1], str):
        return None
    text = json.dumps(texts, sort_keys=True).encode()
    return RunContent(Path(path), script, hashlib.sha256(text).hexdigest())


def _file(name: str, places: Places) -> RunContent | None:
    path = places.joined(name)
    file = read_bound_file(path) if path is not None else None
    if path is None or file is None or not file.is_hashed:
        return None
    return RunContent(Path(path), "", file.digest)
