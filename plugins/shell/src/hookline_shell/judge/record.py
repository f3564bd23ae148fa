"""What was found in one command, and what it was judged with."""

from __future__ import annotations

import os.path
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from .values import MARKS, SPLIT

Severity: TypeAlias = Literal["ask", "deny"]
Sort: TypeAlias = Literal["act", "place", "doubt"]
"""What a finding is about: something done, a path or address named, or what cannot be known."""
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
    judge_address: Callable[[str], str | None] | None = None
    """Tells why a URL would be refused; None where nothing can tell."""
    findings: dict[str, Finding] = field(default_factory=dict)
    steps: int = 0
    traps: list[Callable[[], object]] = field(default_factory=list)
    """What ``trap`` runs at the end of a shell."""
    unpacked: bool = False
    """Something from the network was unpacked; what is run from there is not known."""

    def add(self, severity: Severity, reason: str, sort: Sort = "act") -> None:
        """Note a finding; of two with one reason the stricter stays."""
        before = self.findings.get(reason)
        if before is None or before.severity != "deny":
            self.findings[reason] = Finding(severity, sort)

    def trial(self) -> Record:
        """A record for text that may not be a command at all; nothing is noted here."""
        return Record(self.judge_path, self.workspace, self.home, self.judge_address)

    def step(self) -> None:
        """Count one command. Raises :class:`TooIntricate` when there were too many."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise TooIntricate


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
