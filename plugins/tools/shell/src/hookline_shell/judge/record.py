"""What was found in one command, and what it was judged with."""

from __future__ import annotations

import os.path
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from hookline_hookspecs import Effect

from .values import MARKS, SPLIT

if TYPE_CHECKING:
    from hookline_hookspecs.origins import EffectKind

Severity: TypeAlias = Literal["ask", "once", "deny"]
"""``once`` is an Ask that no grant covers."""
Sort: TypeAlias = Literal["act", "restorable", "place", "tree", "address", "doubt"]
"""What a finding is about: something done, also such that a checkpoint brings back, a path or an
address named, all that is below a folder, or what cannot be known."""
_STRICTNESS: dict[Severity, int] = {"ask": 0, "once": 1, "deny": 2}
MOST_STEPS = 2_000
"""Commands that are followed in one judgement, so that loops and recursion end soon."""
_SHOWN = str.maketrans({**dict.fromkeys(MARKS, "…"), SPLIT: " "})


class TooIntricate(Exception):
    """The command does more than can be followed."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason to stop a command."""

    severity: Severity
    sort: Sort


@dataclass
class Record:
    """One judgement under way.

    ``judge_path`` tells why a path would be refused; ``workspace`` and ``home`` are absolute.
    """

    judge_path: Callable[[str], str | None]
    workspace: str
    home: str
    check_address: Callable[[str], str | None] | None = None
    """Tells why a URL would be refused; None where nothing can tell."""
    findings: dict[str, Finding] = field(default_factory=dict)
    steps: int = 0
    traps: list[Callable[[], object]] = field(default_factory=list)
    """What ``trap`` runs at the end of a shell."""
    judge_write: Callable[[str], str | None] | None = None
    """Tells why a person should approve writing to a path; None where nothing can tell."""
    effects: dict[Effect, None] = field(default_factory=dict)
    """What the command may do, and to what, in the order it was found."""
    remotes: set[str] = field(default_factory=set)
    """Remotes of git that this command made or moved."""
    links: dict[str, str] = field(default_factory=dict)
    """Symbolic links that this command makes, and where they lead; both absolute."""
    own: tuple[str, ...] = ()
    """The names of Hookline's own folder."""
    unpacked: bool = False
    """Something from the network was unpacked; what is run from there is not known."""

    def add(self, severity: Severity, reason: str, sort: Sort = "act") -> None:
        """Note a finding; of two with one reason the stricter stays."""
        before = self.findings.get(reason)
        if before is None or _STRICTNESS[before.severity] <= _STRICTNESS[severity]:
            self.findings[reason] = Finding(severity, sort)
        if sort == "doubt":
            self.effect("unknown", reason)

    def effect(self, kind: EffectKind, target: str = "") -> None:
        """Note what the command may do; ``target`` is a path, a URL, a host or a program."""
        self.effects[Effect(kind, shown_text(target))] = None

    def trial(self) -> Record:
        """A record for text that may not be a command at all; nothing is noted here."""
        return Record(
            *(self.judge_path, self.workspace, self.home, self.check_address),
            judge_write=self.judge_write,
            own=self.own,
        )

    def step(self) -> None:
        """Count one command. Raises :class:`TooIntricate` when there were too many."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise TooIntricate


def shown_text(text: str) -> str:
    """``text`` with ``…`` for what is not known."""
    return text if text.isascii() else text.translate(_SHOWN)


def shown(argv: Sequence[str], limit: int = 100) -> str:
    """A command for people, in backticks, cut at ``limit`` characters."""
    # Each word takes at least one character; only so much is looked at.
    words = (word[: limit + 1].translate(_SHOWN) or "''" for word in argv[: limit + 1])
    line = " ".join(words).replace("\n", " ")
    return f"`{line if len(line) <= limit else line[: limit - 1] + '…'}`"


def join(folder: str, path: str) -> str:
    """``path`` as seen from ``folder``, with ``.`` and ``..`` resolved by name alone."""
    whole = os.path.normpath(os.path.join(folder, path))  # noqa: PTH118 - not a real file
    return "/" + whole.lstrip("/") if whole.startswith("/") else whole
