"""Patterns of commands, matched on the words of a program's call and never on the text of a line.

``git push|fetch --force|-f *``: the first word is the program, words that begin with ``-`` may
stand anywhere, the others in this order, ``a|b`` is either, ``*`` is any run of characters, and a
last ``*`` whatever follows, or nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import translate
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from .commands import SimpleCommand

if TYPE_CHECKING:
    from .places import Places

_CLASS = re.compile(r"(?P<before>[^<>]*)<(?P<names>[a-z|]+)>")
_QUOTE = re.compile(r"[\"'`]")
CLASSES = frozenset(
    {"root", "workspace", "git", "control", "inside", "tmp", "outside", "device", "unknown", "home"}
    | {"glob"}
)
"""Kinds of paths that a packaged pattern may name, as ``<root>``."""


@cache
def _table() -> dict[str, Any]:
    import yaml

    text = files(__package__).joinpath("data", "programs.yaml").read_text("utf-8")
    loaded: dict[str, Any] = yaml.load(text, yaml.CSafeLoader)
    return loaded


@cache
def program_names(key: str) -> frozenset[str]:
    """A list of programs in ``data/programs.yaml``."""
    return frozenset(_table()[key])


@cache
def _value_options(program: str, *, anywhere: bool) -> frozenset[str]:
    """The options of a program whose value is the next word: those that may stand anywhere, or
    only before the subcommand."""
    key = "value_options_anywhere" if anywhere else "value_options"
    return frozenset(_table()[key].get(program, ()))


@dataclass(frozen=True, slots=True)
class Alternatives:
    """One word of a pattern: any of several texts, where ``*`` is any run of characters."""

    text: str
    regex: re.Pattern[str]

    @classmethod
    def parse(cls, text: str) -> Alternatives:
        """``a|b`` as written."""
        return cls(text, re.compile("|".join(_glob(one) for one in text.split("|")), re.S))

    def fits(self, word: str) -> bool:
        """True if ``word`` is one of them."""
        return self.regex.fullmatch(word) is not None


def _glob(text: str) -> str:
    """The regular expression of a text with ``*``, ``?`` and ``[…]``."""
    return translate(text).removesuffix(r"\Z").removesuffix(r"\z")


@dataclass(frozen=True, slots=True)
class PathClass:
    """A word of a packaged pattern that names kinds of paths, such as ``of=<device>``."""

    before: str
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Arguments:
    """The words after a program: options, and the others in order.

    ``options`` are as written, ``-rf`` also as ``-r`` and ``-f``, ``--x=y`` also as ``--x``, and an
    option with its value as ``-c x``. ``leading`` are those before the first other word.
    """

    options: frozenset[str]
    leading: frozenset[str]
    operands: tuple[str, ...]

    @classmethod
    def of(cls, command: SimpleCommand) -> Arguments:
        """The arguments of a command."""
        options: set[str] = set()
        leading: set[str] = set()
        operands: list[str] = []
        before = _value_options(command.program, anywhere=False)
        anywhere = _value_options(command.program, anywhere=True)
        words = iter(command.arguments)
        for word in words:
            if word == "--":
                operands.extend(words)
            elif not word.startswith("-") or word == "-":
                operands.append(word)
            else:
                forms = {word, word.partition("=")[0]}
                if not word.startswith("--"):
                    forms |= {f"-{letter}" for letter in word[1:] if letter.isalpha()}
                if word in anywhere or (word in before and not operands):
                    forms.add(f"{word} {next(words, '')}")
                options |= forms
                leading |= forms if not operands else set()
        return cls(frozenset(options), frozenset(leading), tuple(operands))


@dataclass(frozen=True, slots=True)
class CommandPattern:
    """A pattern of a program's call.

    ``is_open``: it ends in ``*``. ``before``: options that must stand before the subcommand,
    written ``^-c``. ``joined`` matches the words joined by one space.
    """

    text: str
    program: Alternatives
    options: tuple[Alternatives, ...]
    before: tuple[Alternatives, ...]
    operands: tuple[Alternatives | PathClass, ...]
    is_open: bool
    joined: re.Pattern[str] | None

    @classmethod
    def parse(cls, text: str) -> CommandPattern:
        """The pattern that ``text`` is. Raises ``ValueError`` with what to write instead."""
        if _QUOTE.search(text):
            bare = _QUOTE.sub("", text)
            raise ValueError(f"words are compared without their quotes. Write {bare!r}.")
        words = text.split()
        if not words:
            raise ValueError("a command is missing. Write bash(PROGRAM *).")
        if re.search(r"(?:^|\s)(?:&&|\|\||;|\|)(?:\s|$)|;$", text):
            raise ValueError(
                "each part of a line is judged alone. Write one rule for each program."
            )
        is_open = len(words) > 1 and words[-1] == "*"
        middle = words[1:-1] if is_open else words[1:]
        flags = [word for word in middle if word.startswith("-") and len(word) > 1]
        operands = [word for word in middle if not word.startswith(("-", "^-")) or word == "-"]
        return cls(
            text,
            Alternatives.parse(words[0].removeprefix("\\")),
            tuple(Alternatives.parse(one) for flag in flags for one in _single_flags(flag)),
            tuple(
                Alternatives.parse(one[1:].replace("|^", "|")) for one in middle if one[0] == "^"
            ),
            tuple(_operand(word) for word in operands),
            is_open,
            _joined(words),
        )

    @property
    def has_path_class(self) -> bool:
        """True if a word names kinds of paths."""
        return any(isinstance(one, PathClass) for one in self.operands)

    def matches(self, command: SimpleCommand, places: Places) -> bool:
        """True if an ask or deny rule with this pattern is about the command."""
        if not command.words or not self._is_program(command):
            return False
        if self.joined is not None and self.joined.fullmatch(_text(command, self.program.text)):
            return True
        arguments = Arguments.of(command)
        if not self._has_options(arguments):
            return False
        return self._has_operands(arguments.operands, places, all_of_them=False)

    def _is_program(self, command: SimpleCommand) -> bool:
        names = {command.program, command.words[0].text}
        return any(self.program.fits(name) for name in names)

    def covers(self, command: SimpleCommand, places: Places) -> bool:
        """True if an allow rule with this pattern is about every word of the command."""
        if not command.words or not self._names_program(command):
            return False
        if self.joined is not None and self.joined.fullmatch(_text(command, self.program.text)):
            return True
        arguments = Arguments.of(command)
        if not self._has_options(arguments) or not self._knows_options(arguments):
            return False
        return self._has_operands(arguments.operands, places, all_of_them=True)

    def _names_program(self, command: SimpleCommand) -> bool:
        """True for an installed program of this name, or a file that the pattern names as such."""
        written = command.words[0].text
        if self.program.text != "*" and "/" in self.program.text:
            return self.program.fits(written)
        folder, slash, name = written.rpartition("/")
        if slash and folder not in program_names("installed_in"):
            return False
        return self.program.fits(name)

    def _has_options(self, arguments: Arguments) -> bool:
        wanted = all(any(map(one.fits, arguments.options)) for one in self.options)
        return wanted and all(any(map(one.fits, arguments.leading)) for one in self.before)

    def _knows_options(self, arguments: Arguments) -> bool:
        """True if the pattern names every option, or is open for those behind the subcommand."""
        unknown = {o for o in arguments.options if not any(one.fits(o) for one in self.options)}
        if self.has_path_class:
            return True
        if not self.is_open:
            known = {o for o in arguments.options if o not in unknown}
            return all(_is_made_of(o, known) for o in unknown)
        if not self.operands:
            return True
        return not (unknown & arguments.leading - program_names("harmless_options"))

    def _has_operands(self, operands: Sequence[str], places: Places, *, all_of_them: bool) -> bool:
        rest = list(operands)
        for one in self.operands:
            if isinstance(one, PathClass):
                named = rest[:-1] if self.is_open else rest
                hits = [word for word in named if _is_of_class(word, one, places)]
                if not hits or (all_of_them and len(hits) < len(named)):
                    return False
                rest = []
            elif not rest or not one.fits(rest.pop(0)):
                return False
        return self.is_open or not rest

    def named_operands(self, command: SimpleCommand) -> frozenset[str]:
        """The words of a command that a word of the pattern names, and not only by a ``*``."""
        specific = [
            one
            for one in self.operands
            if isinstance(one, Alternatives) and one.text.strip("*") not in ("", "/", "~", "~/")
        ]
        words = command.arguments
        return frozenset(word for word in words if any(one.fits(word) for one in specific))


def _is_of_class(word: str, wanted: PathClass, places: Places) -> bool:
    path = word[len(wanted.before) :]
    return word.startswith(wanted.before) and bool(places.kinds(path) & wanted.names)


def _single_flags(flag: str) -> list[str]:
    """``-rf`` as ``-r`` and ``-f``, as a command may also write them."""
    if re.fullmatch(r"-[A-Za-z]{2,3}", flag):
        return [f"-{letter}" for letter in flag[1:]]
    return [flag]


def _is_made_of(option: str, known: set[str]) -> bool:
    """True if ``-rf`` is written of known letters, or ``--x`` is the name of a known ``--x=y``."""
    if option.startswith("--"):
        return any(one.startswith(f"{option}=") for one in known)
    return len(option) > 2 and all(f"-{letter}" in known for letter in option[1:])


def _operand(word: str) -> Alternatives | PathClass:
    found = _CLASS.fullmatch(word)
    if found is None:
        return Alternatives.parse(word)
    names = frozenset(found["names"].split("|"))
    if unknown := names - CLASSES:
        raise ValueError(f"<{'|'.join(sorted(unknown))}> is not a kind of path.")
    return PathClass(found["before"], names)


def _joined(words: Sequence[str]) -> re.Pattern[str] | None:
    """The pattern on the words joined by one space, as people read it; None for a packaged one."""
    if any(_CLASS.fullmatch(word) or word.startswith("^-") for word in words):
        return None
    parts = [
        "(?:" + "|".join(re.escape(one).replace(r"\*", ".*") for one in word.split("|")) + ")"
        for word in words
    ]
    if len(parts) > 1 and words[-1] == "*":
        return re.compile(" ".join(parts[:-1]) + "(?: .*)?", re.S)
    return re.compile(" ".join(parts), re.S)


def _text(command: SimpleCommand, program: str) -> str:
    """The words joined by one space; the program with its folder only if the pattern has one."""
    name = command.words[0].text if "/" in program else command.program
    return " ".join((name, *command.arguments))
