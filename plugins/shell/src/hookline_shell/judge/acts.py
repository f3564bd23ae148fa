"""What a command does that the tables know: ``acts`` in the data, and the deeds they name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from . import deeds
from .record import shown
from .shell import Shell
from .tables import acts_of
from .values import UNKNOWN


def judge(name: str, argv: Sequence[str], shell: Shell, stdin: str) -> None:
    """Note what is wrong with what ``argv``, a call of ``name``, does."""
    _fit(name, argv, shell, stdin)
    if any(UNKNOWN in word and word != UNKNOWN for word in argv):
        # A variable that holds nothing may only be there to break a word.
        trial = shell.record.trial()
        bare = [word.replace(UNKNOWN, "") for word in argv]
        _fit(name, bare, replace(shell, record=trial), stdin)
        for reason, found in trial.findings.items():
            if found.sort == "act":
                shell.record.add("ask", reason)


def _fit(name: str, argv: Sequence[str], shell: Shell, stdin: str) -> None:
    arguments = " ".join(argv[1:])
    deeds.option_writer(argv, shell)
    for act in acts_of(name):
        if act.deed:
            deeds.DEEDS[act.deed](argv, shell, stdin)
        elif act.fits(arguments):
            shell.record.add(act.verdict, f"{shown(argv)}: {act.reason.format(name=name)}")
