"""What a command does that the tables know: ``acts`` in the data, and the deeds they name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from . import deeds, uploads
from .options import option_values, subcommand
from .record import Sort, join, shown
from .shell import Shell
from .tables import acts_of
from .values import UNKNOWN, known

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
                sort: Sort = "act"
                if act.restorable and _is_in_workspace(argv, shell):
                    sort = "restorable"
                reason = act.reason.format(name=name)
                shell.record.add(act.verdict, f"{shown(argv)}: {reason}", sort)


_ELSEWHERE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")


def _is_in_workspace(argv: Sequence[str], shell: Shell) -> bool:
    """True if git works on a folder of the workspace, of which checkpoints are made."""
    if shell.remote or any(name in shell.variables for name in _ELSEWHERE):
        return False
    if any(word.startswith(("--git-dir", "--work-tree")) for word in argv):
        return False
    folder = shell.cwd
    for named in option_values(argv, ("-C",)):
        folder = join(folder, named)
    workspace = shell.record.workspace
    return known(folder) and (folder == workspace or folder.startswith(f"{workspace}/"))
