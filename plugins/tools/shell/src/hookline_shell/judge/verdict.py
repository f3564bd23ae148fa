"""The judge itself: what was found in a command becomes its effects and one verdict."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hookline_hookspecs import Ask, Deny, Effect, Paths

from . import tables
from .lookalikes import plain
from .machine import judge_script
from .quoted_parts import quoted_parts
from .record import Finding, Record, Severity
from .syntax import warm_up

_log = logging.getLogger(__name__)
LONGEST = 100_000
"""Characters of a command that is read; a longer one is put before a person."""
Address = Callable[[str], str | None]
"""Tells why a URL would be refused (``Http.check_url``)."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Who calls a command, and what is around it.

    ``operator``: the person may run what cannot be seen. ``sandboxed``: it runs in a sandbox, so
    that what it reads and which programs it starts stays there. ``checkpoints``: the workspace's
    files are kept as they were before, so that what only changes them can be taken back.
    """

    operator: bool = True
    sandboxed: bool = False
    checkpoints: bool = False

    def lets(self, finding: Finding) -> bool:
        """True if ``finding`` needs no question in this setting."""
        if finding.sort == "tree":
            return self.sandboxed
        if finding.severity != "ask":
            return False
        if finding.sort in ("place", "doubt"):
            return self.sandboxed
        return finding.sort == "restorable" and self.checkpoints


HERE = Setting()


class Judge:
    """Judges shell commands; one serves all sessions.

    ``patterns`` are the operator's; ``home`` is Hookline's folder, whose keys nobody may name.
    """

    def __init__(self, patterns: Sequence[re.Pattern[str]] = (), home: Path | None = None) -> None:
        self.patterns = tuple(patterns)
        names = (home.expanduser().absolute(), home.expanduser().resolve()) if home else ()
        self.own = tuple(dict.fromkeys(map(str, names)))
        warm_up()
        tables.warm_up()

    def judge(
        self,
        command: str,
        paths: Paths,
        folder: str = "",
        check_url: Address | None = None,
        setting: Setting = HERE,
    ) -> Deny | Ask | None:
        """The verdict on ``command`` run in ``folder`` (the workspace by default).

        It depends on the command alone: nothing in it is run or looked up. Deny where what it
        does could not be undone; Ask with the literal command where a person should see it first
        or where it cannot be decided, for good or (``once``) for this call alone; else None.
        """
        if len(command) > LONGEST:
            return Ask(
                f"The command is longer than the {LONGEST:,} characters that are read", command
            )
        record = self._record(command, paths, folder, check_url)
        if (words := self.dangerous_words(command)) is not None:
            record.add("ask", f"{words!r} is on the list of dangerous commands")
        return _verdict(record, command, setting)

    def dangerous_words(self, command: str) -> str | None:
        """The words of a command that the operator's patterns match first, or None."""
        for pattern in self.patterns:
            if found := pattern.search(command):
                # People read the words that match, not the expression.
                return " ".join(found[0].split()) or command.strip()
        return None

    def effects(
        self, command: str, paths: Paths, folder: str = "", check_url: Address | None = None
    ) -> tuple[Effect, ...]:
        """What ``command`` may do, each once, in the order it was found."""
        if len(command) > LONGEST:
            return (Effect("unknown"),)
        return tuple(self._record(command, paths, folder, check_url).effects)

    def _record(self, command: str, paths: Paths, folder: str, check_url: Address | None) -> Record:
        workspace = str(paths.workspace)
        record = Record(_looked_at(paths.check_path), workspace, str(Path.home()), check_url)
        record.judge_write = _looked_at(paths.caution)
        record.own = self.own
        start = str(Path(workspace) / folder) if folder else workspace
        try:
            judge_script(command, record, start)
            _judge_looks(command, record, start)
        except Exception as fault:  # a judge that fails must not let a command pass
            _log.exception("the judge failed on a command")
            record.add("ask", f"the judge itself failed on it ({type(fault).__name__})")
            record.effect("unknown")
        return record


def _looked_at(judge: Callable[[str], str | None]) -> Callable[[str], str | None]:
    """``judge``, where it may not even look as a refusal."""

    def judged(path: str) -> str | None:
        try:
            return judge(path)
        except OSError as fault:
            return f"it cannot be looked at ({fault.strerror})"

    return judged


def _judge_looks(command: str, record: Record, start: str) -> None:
    """What the command seems to be to a person who cannot tell its characters apart."""
    seeming = plain(command)
    if seeming == command:
        return
    trial = record.trial()
    judge_script(seeming, trial, start)
    for reason, found in trial.findings.items():
        if found.sort != "doubt" and reason not in record.findings:
            severity: Severity = "once" if found.severity == "once" else "ask"
            record.add(severity, f"with characters that look like others it seems to say: {reason}")


_OWN_NAME = re.compile(r"(?i)hookline")
_UNSEEN = ("execute", "unknown")


def _verdict(record: Record, command: str, setting: Setting) -> Deny | Ask | None:
    denied = [
        reason
        for reason, found in record.findings.items()
        if found.severity == "deny" and not setting.lets(found)
    ]
    if denied:
        return Deny(f"This cannot be undone: {_listed(denied)}.")
    if any(effect.kind in _UNSEEN for effect in record.effects):
        # A program of its own may change the folder that git works on.
        setting = replace(setting, checkpoints=False)
    asked = {r: found for r, found in record.findings.items() if not setting.lets(found)}
    reasons = list(asked)
    if not (setting.operator or setting.sandboxed):
        unseen = [e.target for e in record.effects if e.kind in _UNSEEN and e.target not in asked]
        reasons += [f"it runs {what}, and nobody can see what that does" for what in unseen]
    if not reasons:
        return None
    # Whatever is asked about a command that names the program itself holds for this call alone.
    once = any(found.severity == "once" for found in asked.values())
    once |= bool(_OWN_NAME.search(command))
    reason = f"This needs a person's approval: {_listed(reasons)}."
    marks = quoted_parts(command, reason)
    return Ask(reason, command, once=once, marks=marks, answered_by_rules=not once)


def _listed(reasons: Sequence[str]) -> str:
    more = f"; and {len(reasons) - 4} more" if len(reasons) > 4 else ""
    return "; ".join(reasons[:4]) + more
