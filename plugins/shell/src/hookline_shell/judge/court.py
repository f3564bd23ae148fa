"""The judge itself: what was found in a command becomes one verdict."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from hookline_hookspecs import Ask, Deny, Paths

from . import tables
from .machine import judge_script
from .record import Record
from .syntax import warm_up

LONGEST = 100_000
"""Characters of a command that is read; a longer one is put before a person."""


class Judge:
    """Judges shell commands. Holds only the operator's patterns; one serves all sessions."""

    def __init__(self, patterns: Sequence[re.Pattern[str]] = ()) -> None:
        self.patterns = tuple(patterns)
        warm_up()
        for name in ("acts", "wrappers", "interpreters"):
            tables.load(name)
        tables.places()

    def judge(self, command: str, paths: Paths, workdir: str = "") -> Deny | Ask | None:
        """The verdict on ``command`` run in ``workdir`` (the workspace by default).

        It depends on the command alone: nothing in it is run or looked up. Deny where what it
        does could not be undone, Ask with the literal command where a person should see it first
        or where it cannot be decided, else None.
        """
        home = str(Path.home())
        record = Record(paths.judge, str(paths.workspace), home)
        if len(command) > LONGEST:
            return Ask(
                f"The command is longer than the {LONGEST:,} characters that are read", command
            )
        start = str(Path(paths.workspace) / workdir) if workdir else str(paths.workspace)
        judge_script(command, record, start)
        for pattern in self.patterns:
            if pattern.search(command):
                record.add("ask", f"it fits the dangerous pattern {pattern.pattern!r}")
        return _verdict(record, command)


def _verdict(record: Record, command: str) -> Deny | Ask | None:
    denied = [reason for reason, severity in record.findings.items() if severity == "deny"]
    if denied:
        return Deny(f"This cannot be undone: {_listed(denied)}.")
    if record.findings:
        return Ask(f"This needs a person's approval: {_listed(list(record.findings))}.", command)
    return None


def _listed(reasons: Sequence[str]) -> str:
    more = f"; and {len(reasons) - 4} more" if len(reasons) > 4 else ""
    return "; ".join(reasons[:4]) + more
