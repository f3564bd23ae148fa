"""What a command does that the tables know: ``acts`` in the data, and the deeds they name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from . import deeds, uploads
from .options import subcommand
from .record import Sort, shown
from .shell import Shell
from .tables import acts_of
from .values import UNKNOWN

_DEEDS = deeds.DEEDS | uploads.DEEDS


def judge(name: str, argv: Sequence[str], shell: Shell, stdin: str) -> None:
    """Note what is wrong with what ``argv``, a call of ``name``, does."""
    _fit(name, argv, shell, stdin)
    if any(UNKNOWN in word and word != UNKNOWN for word in argv):
        # A variable that holds nothing may only be there to break a word.
        trial = shell.record.trial()
        bare = [word.replace(UNKNOWN, "") for word in argv]
        _fit(name, bare, replace(shell, record=trial), stdin)
        for reason, found in trial.findings.items():
            if found.sort in ("act", "restorable"):
                shell.record.add("ask", reason)


def _fit(name: str, argv: Sequence[str], shell: Shell, stdin: str) -> None:
    deeds.option_writer(argv, shell)
    if not (acts := acts_of(name)):
        return
    arguments = " ".join(argv[1:])
    after_options = " ".join(subcommand(name, argv))
    for act in acts:
        if act.deed:
            _DEEDS[act.deed](argv, shell, stdin)
        elif act.fits(arguments, after_options):
            shell.record.effect(act.effect, shown(argv).strip("`"))
            if act.verdict != "note":
                sort: Sort = "restorable" if act.restorable else "act"
                reason = act.reason.format(name=name)
                shell.record.add(act.verdict, f"{shown(argv)}: {reason}", sort)
