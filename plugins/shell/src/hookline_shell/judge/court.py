"""The judge itself: what was found in a command becomes one verdict."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from hookline_hookspecs import Ask, Deny, Paths

from . import tables
from .lookalikes import plain
from .machine import judge_script
from .record import Record
from .syntax import warm_up

_log = logging.getLogger(__name__)
LONGEST = 100_000
"""Characters of a command that is read; a longer one is put before a person."""


class Judge:
    """Judges shell commands. Holds only the operator's patterns; one serves all sessions."""

    def __init__(self, patterns: Sequence[re.Pattern[str]] = ()) -> None:
        self.patterns = tuple(patterns)
        warm_up()
        for name in ("acts", "wrappers", "interpreters", "speech"):
            tables.load(name)
        tables.places()
        tables.origins()

    def judge(
        self,
        command: str,
        paths: Paths,
        workdir: str = "",
        address: Callable[[str], str | None] | None = None,
    ) -> Deny | Ask | None:
        """The verdict on ``command`` run in ``workdir`` (the workspace by default).

        ``address`` tells why a URL would be refused (``Http.judge``).

        It depends on the command alone: nothing in it is run or looked up. Deny where what it
        does could not be undone, Ask with the literal command where a person should see it first
        or where it cannot be decided, else None.
        """
        home = str(Path.home())
        record = Record(_looked_at(paths), str(paths.workspace), home, address)
        if len(command) > LONGEST:
            return Ask(
                f"The command is longer than the {LONGEST:,} characters that are read", command
            )
        start = str(Path(paths.workspace) / workdir) if workdir else str(paths.workspace)
        try:
            judge_script(command, record, start)
            _judge_looks(command, record, start)
        except Exception as fault:  # a judge that fails must not let a command pass
            _log.exception("the judge failed on a command")
            record.add("ask", f"the judge itself failed on it ({type(fault).__name__})", "doubt")
        for pattern in self.patterns:
            if pattern.search(command):
                record.add("ask", f"it fits the dangerous pattern {pattern.pattern!r}")
        return _verdict(record, command)


def _looked_at(paths: Paths) -> Callable[[str], str | None]:
    """``paths.judge``, where it may not even look as a refusal."""

    def judge(path: str) -> str | None:
        try:
            return paths.judge(path)
        except OSError as fault:
            return f"it cannot be looked at ({fault.strerror})"

    return judge


def _judge_looks(command: str, record: Record, start: str) -> None:
    """What the command seems to be to a person who cannot tell its characters apart."""
    seeming = plain(command)
    if seeming == command:
        return
    trial = record.trial()
    judge_script(seeming, trial, start)
    for reason, found in trial.findings.items():
        if found.sort != "doubt" and reason not in record.findings:
            record.add("ask", f"with characters that look like others it seems to say: {reason}")


def _verdict(record: Record, command: str) -> Deny | Ask | None:
    denied = [reason for reason, found in record.findings.items() if found.severity == "deny"]
    if denied:
        return Deny(f"This cannot be undone: {_listed(denied)}.")
    if record.findings:
        return Ask(f"This needs a person's approval: {_listed(list(record.findings))}.", command)
    return None


def _listed(reasons: Sequence[str]) -> str:
    more = f"; and {len(reasons) - 4} more" if len(reasons) > 4 else ""
    return "; ".join(reasons[:4]) + more
