"""Commands in the arguments of programs that no table knows.

No list of programs that run others is ever complete. So whatever an unknown program is given is
looked through for what would be an act if it were run: an argument that is a script, a string or a
``!`` in one, the words from some argument on, the input. Programs whose arguments are messages or
patterns are left out by name (``speech.yaml``). A guess only asks.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from functools import cache

from . import literals
from .braces import TooMany
from .record import MOST_STEPS, Severity, TooIntricate, shown
from .scan import Unreadable
from .shell import Shell
from .syntax import TooLong
from .tables import base_name, load, shells
from .values import known

_LONGEST = 4_000
"""Characters of a text that is looked through."""
_MOST_TAILS, _MOST_WORDS = 6, 60
_MOST_LINES = 400
_AFTER = re.compile(r"(?m)(?:!+|\\!|\||:)[ \t]*(.+)$")


@cache
def _speakers() -> frozenset[str]:
    return frozenset(load("speech")["speakers"])


@cache
def _words() -> re.Pattern[str]:
    names = "|".join(re.escape(name) for name in (*load("speech")["words"], *sorted(shells())))
    return re.compile(rf"(?<![\w-])(?:{names})(?![\w-])|\(\)\s*\{{")


@cache
def _ordered() -> re.Pattern[str]:
    """Programs that are worth a look in a file of orders, where text is rarely only text."""
    names = "|".join(re.escape(n) for n in (*load("speech")["ordered"], *load("speech")["words"]))
    return re.compile(rf"(?<![\w./-])(?:{names}|{'|'.join(sorted(shells()))})(?=[\s\"']|\Z)")


@cache
def _targeted() -> frozenset[str]:
    return frozenset(load("speech")["words"]) | shells()


def judge(name: str, argv: Sequence[str], shell: Shell, stdin: str) -> None:
    """Look through what the unknown program ``name`` is given."""
    if name in _speakers():
        return
    command = shown(argv)
    for word in argv[1:]:
        if re.search(r"[\s!|;(]", word):
            suspect(word, shell, command)
    if known(stdin):
        suspect(stdin, shell, command)
    tails = [i for i in range(1, len(argv) - 1) if base_name(argv[i]) in _targeted()]
    for index in tails[:_MOST_TAILS]:
        _tail(argv[index : index + _MOST_WORDS], shell, command)


def suspect(text: str, shell: Shell, command: str) -> None:
    """Ask if ``text``, or a part of it that is plainly a command, would be an act."""
    if len(text) > _LONGEST or not _words().search(text):
        return
    for script in dict.fromkeys(_scripts(text)):
        _try(script, shell, command)


def _scripts(text: str) -> Iterator[str]:
    yield text
    yield from literals.fold(text)[1]
    yield from (match[1] for match in _AFTER.finditer(text))


def orders(text: str, shell: Shell, command: str) -> None:
    """Ask if a line of ``text``, from some word on, would be an act: files of configuration."""
    for line in text.splitlines()[:_MOST_LINES]:
        for match in itertools.islice(_ordered().finditer(line), 3):
            _try(line[match.start() :].rstrip("\"'`)]}; ,"), shell, command)


def _try(script: str, shell: Shell, command: str) -> None:
    trial = shell.trial()
    trial.record.steps = shell.record.steps
    trial.judge(script)
    shell.record.steps = trial.record.steps
    if trial.record.steps > MOST_STEPS:
        raise TooIntricate
    for reason, found in trial.record.findings.items():
        if found.sort in ("act", "restorable"):
            severity: Severity = "once" if found.severity == "once" else "ask"
            shell.record.add(severity, f"{command} may run what it is given: {reason}")


def _tail(words: Sequence[str], shell: Shell, command: str) -> None:
    """The same for words that are a command and its arguments; only what is denied counts."""
    trial = shell.trial()
    try:
        trial.follow(words, "")
    except (TooIntricate, TooLong, Unreadable, TooMany, RecursionError):
        return
    for reason, found in trial.record.findings.items():
        if found.severity != "ask":
            severity: Severity = "once" if found.severity == "once" else "ask"
            shell.record.add(severity, f"{command} may run what it is given: {reason}")
