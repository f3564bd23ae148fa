"""A shell under judgement: what it knows, and what a rule may ask it to run.

:class:`Shell` holds variables, functions, aliases, the folder and the files that the command itself
writes. How a script is walked is left to :class:`.machine.Machine`, so that the rules, which run
commands in commands, need to know this module alone.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Self

from .braces import TooMany
from .record import Record, TooIntricate, join
from .scan import Unreadable
from .scope import MOST
from .syntax import Node, TooLong
from .values import FILE, HOOKLINE, SECRET, SPLIT, UNKNOWN, clean

_SECRET_NAME = re.compile(
    r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|PASSPHRASE|DSN|DATABASE_URL)(_?\w{0,4})$|"
    r"^(AWS_SECRET|HOOKLINE_)",
    re.IGNORECASE,
)
_DEEPEST = 40
"""Functions and scripts in each other that are followed."""
MOST_TEXT = 100_000
"""Characters of a value or a file that are kept."""


@dataclass
class Shell(ABC):
    """A shell under judgement; :meth:`child` is a subshell of it."""

    record: Record
    cwd: str
    variables: dict[str, list[str]] = field(default_factory=dict)
    functions: dict[str, Node] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    name: str = "bash"
    remote: bool = False
    branching: bool = False
    references: dict[str, str] = field(default_factory=dict)
    """Variables that stand for another (``declare -n``)."""
    stack: tuple[str, ...] = ()
    """Functions and scripts being run, with ``&`` where another process was started."""

    # What unquoting asks (scope.Scope).

    def lookup(self, name: str) -> list[str]:
        """The values a parameter may have."""
        name = self.references.get(name, name)
        if name in self.variables:
            return self.variables[name]
        if name == "FUNCNAME":
            return [self.running()]
        if name in ("@", "*"):
            return [SPLIT.join(self.arguments)]
        if name.isdigit() and name != "0":
            return [self.arguments[int(name) - 1] if int(name) <= len(self.arguments) else ""]
        if name in ("?", "$", "!", "#", "-", "PPID", "UID", "EUID", "RANDOM", "SECONDS", "LINENO"):
            return ["" if name == "-" else str(len(self.arguments)) if name == "#" else "7"]
        usual = {"0": self.name, "HOME": self.record.home, "PWD": self.cwd, "OLDPWD": self.cwd}
        usual |= {"IFS": " \t\n", "SHELL": "/bin/bash", "BASH": "/bin/bash", "TMPDIR": "/tmp"}  # noqa: S108
        usual |= {"_": "", "HOSTNAME": "host", "USER": "user", "LOGNAME": "user"}
        if name in usual:
            return [usual[name]]
        return [SECRET if _SECRET_NAME.search(name) else UNKNOWN]

    def running(self) -> str:
        """The name of the function being run."""
        names = [name[9:].partition("\0")[0] for name in self.stack if name.startswith("function:")]
        return names[-1] if names else ""

    def is_set(self, name: str) -> bool:
        """True if the command itself gave the parameter a value."""
        if name.isdigit() and name != "0":
            return int(name) <= len(self.arguments)
        return name in self.variables or name in ("HOME", "PWD", "SHELL", "USER")

    def assign(self, name: str, values: list[str]) -> None:
        """Set a variable; in a branch what it was before stays possible."""
        name = self.references.get(name, name)
        kept = [v[:MOST_TEXT] for v in values]
        if self.branching and name in self.variables:
            kept = list(dict.fromkeys([*self.variables[name], *kept]))[:MOST]
        self.variables[name] = kept

    def home(self, user: str) -> str:
        """A home folder."""
        if user == "+" or user == "-":
            return self.cwd
        return f"/home/{user}" if user else self.lookup("HOME")[0]

    @abstractmethod
    def substitute(self, script: str) -> str:
        """What ``script`` would put out; it is judged on the way."""

    @abstractmethod
    def process(self, script: str, sign: str) -> str:
        """The path of a process substitution, ``sign`` being ``<`` or ``>``."""

    # Files the command itself writes.

    def content(self, path: str) -> str:
        """What is known of a file's content."""
        if path == "/dev/null":
            return ""
        name = path.rpartition("/")[2]
        unseen = HOOKLINE if name == "hookline" else FILE + UNKNOWN if name[:1] == "." else FILE
        return self.files.get(join(self.cwd, path), unseen)

    def write(self, path: str, text: str) -> None:
        """Remember what the command writes."""
        self.files[join(self.cwd, path)] = text[:MOST_TEXT]

    # Shells made of this one.

    def child(self) -> Self:
        """A subshell: it sees everything and changes nothing but files."""
        return replace(self, variables=dict(self.variables), aliases=dict(self.aliases))

    def entering(self, name: str, arguments: Sequence[str] = ()) -> Self | None:
        """This shell inside function or script ``name``; None where that would never end.

        Something that calls itself with other arguments is followed a second time.
        """
        again = f"{name}\0{hash(tuple(arguments))}"
        if again in self.stack or self.stack.count(name) > 1:
            since = self.stack[self.stack.index(name) :]
            if "&" in since:
                what = name.partition("\0")[0].partition(":")[2]
                self.record.add("deny", f"{what!r} starts itself again and again (a fork bomb)")
            return None
        self.deepen()
        return replace(self, stack=(*self.stack, name, again))

    def forked(self) -> Self:
        """This shell in another process."""
        child = self.child()
        child.stack = (*self.stack, "&") if self.stack else ()
        return child

    def trial(self) -> Self:
        """A new shell in this folder, for text that may not be a command; it notes nothing here."""
        return type(self)(self.record.trial(), self.cwd)

    # Running.

    def judge(self, script: str) -> None:
        """Judge a whole command, with the traps it sets; what was found is in ``record``."""
        try:
            self.run_text(clean(script), "")
            for trap in islice(self.record.traps, 64):  # a trap may set another
                trap()
        except (Unreadable, TooMany) as problem:
            self.record.add("ask", f"it cannot be read with certainty: {problem}", "doubt")
        except (TooIntricate, TooLong, RecursionError):
            self.record.add("ask", "it does more than can be followed", "doubt")

    def deepen(self) -> None:
        """Raise :class:`TooIntricate` if no more scripts in scripts are followed."""
        if len(self.stack) > _DEEPEST:
            raise TooIntricate

    @abstractmethod
    def run_text(self, script: str, stdin: str) -> str:
        """Run ``script``; what it puts out. Undecidable scripts are noted."""

    @abstractmethod
    def run(self, node: Node, stdin: str) -> str:
        """Run a part of a script with ``stdin``; what it puts out."""

    @abstractmethod
    def follow(self, argv: Sequence[str], stdin: str) -> str:
        """Judge a command that another one runs; what it puts out."""
