"""Files that programs take orders from: configuration, build files, plugins (``loads.yaml``).

What the command itself wrote there is judged; what came over the network may not be run unseen.
"""

from __future__ import annotations

import fnmatch
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from . import acts, guesses, statements
from .options import option_values
from .places import judge_words
from .record import join, shown
from .shell import Shell
from .tables import base_name, load
from .values import FILE, NETWORK, UNKNOWN, known, without_marks


def judge(name: str, argv: Sequence[str], shell: Shell, stdin: str) -> None:
    """Judge what ``argv``, a call of ``name``, takes its orders from."""
    rule = load("loads")["programs"].get(name)
    if rule is None:
        return
    if only_looks(name, argv):
        return
    for path in dict.fromkeys(_named(rule, argv, shell)):
        if path in ("-", "/dev/stdin", "/dev/fd/0"):
            judge_content(rule, "its input", stdin, argv, shell)
        elif (content := shell.files.get(join(shell.cwd, path))) is not None:
            judge_content(rule, path, content, argv, shell)
        elif shell.record.unpacked and path in option_values(argv, rule.get("options", ())):
            shell.record.add("ask", f"{shown(argv)} takes orders from what this command fetched")


def only_looks(name: str, argv: Sequence[str]) -> bool:
    """True for a call of ``name`` that runs nothing."""
    pattern = load("loads")["programs"].get(name, {}).get("unless")
    return bool(pattern and re.search(pattern, " ".join(argv[1:])))


def _named(rule: Mapping[str, Any], argv: Sequence[str], shell: Shell) -> Iterator[str]:
    """The paths that ``argv`` names as orders, and those the program looks for by itself."""
    for value in option_values(argv, rule.get("options", ())):
        yield value
        module = value.removeprefix("./").replace("::", "/").partition(";")[0]
        wanted = tuple(f"/{module}{ending}" for ending in rule.get("endings", ()))
        yield from (path for path in shell.files if wanted and path.endswith(wanted))
    for arg in argv[1:]:
        for prefix in rule.get("prefixes", ()):
            if arg.startswith(prefix):
                yield arg[len(prefix) :]
    if rule.get("any"):
        for arg in argv[1:]:
            yield arg
            yield arg.partition("=")[2] or arg[2:]
    for pattern in rule.get("names", ()):
        for path in tuple(shell.files):
            folder, _, file = path.rpartition("/")
            if fnmatch.fnmatchcase(file, pattern) and folder.startswith(shell.cwd.rstrip("/")):
                yield path


def judge_content(
    rule: Mapping[str, Any], path: str, content: str, argv: Sequence[str], shell: Shell
) -> None:
    """Judge orders that stand in ``path``."""
    command = shown(argv)
    if NETWORK in content:
        shell.record.add("ask", f"{command} takes its orders from {path}, from the network")
        return
    if not without_marks(content).strip():
        if UNKNOWN in content and FILE not in content and path == "its input":
            shell.record.add("ask", f"{command} takes orders that cannot be known", "doubt")
        return
    if rule.get("kind") == "options":
        _options(content, argv, shell)
    elif rule.get("kind") == "containers" and (found := _opens().search(content)):
        what = " ".join(found[0].split())
        shell.record.add("ask", f"{command} opens the machine itself to a container: {what!r}")
    language = load("interpreters")["languages"].get(base_name(argv[0]), {})
    if "speaks" in language:
        statements.judge(language["speaks"], content, shell, command)
    if known(content):
        guesses.orders(content, shell, f"{path}, which {argv[0]} reads,")


@cache
def _opens() -> re.Pattern[str]:
    return re.compile(load("loads")["opens_the_machine"])


def _options(content: str, argv: Sequence[str], shell: Shell) -> None:
    """A file of command-line options, each in a line: ``url = "https://…"``, ``--rsh=x``."""
    words: list[str] = []
    for line in content.splitlines():
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        match = re.match(r"(-{0,2}[\w-]+)\s*[=:]?\s*(.*)\Z", line)
        if match is None:
            continue
        option, value = match.groups()
        if not option.startswith("-"):
            option = ("-" if len(option) == 1 else "--") + option
        try:
            values = shlex.split(value)
        except ValueError:
            values = [value]
        words += values if option == "--url" else [option, *values]
    given = [argv[0], *words]
    judge_words(argv[0], given, given, shell)
    acts.judge(argv[0], given, shell, "")
