"""Whether this process may administer Hookline: not if one of Hookline's tools started it.

Three signs are looked for, the cheapest first:

1. *The mark*, in this process's environment or on its limits. A process that runs turns marks
   itself before it starts anything (:mod:`.command_guard`), so whatever it starts keeps the limit:
   through ``env -i``, ``setsid``, a double fork, ``nohup``, the death of the runtime. Its children
   also lose the capability that raises limits.
2. *An ancestor* that is marked or runs turns. This finds what removed its mark, where that is
   possible (not Linux, or an account that may raise limits), while its parents live.
3. *A stray process*, where no mark holds (macOS and others): it has no living ancestors except
   those that adopt orphans, no terminal, and a process of the same account that runs turns is older
   than its whole family. A command that let its parents die looks like this. Other processes
   without a terminal differ in one point: a step of CI, a script or a test has an older ancestor;
   cron and sshd are old and alive. On Linux no process can remove the mark, and what looks like
   a stray is a person's ``nohup``.

Not found are processes that another daemon starts for a tool in its own control group
(``systemd-run``, ``at``), what is typed for it into an open terminal (``tmux send-keys``), and
a copy of this code without the check: these are left to the command rules, the sandbox and the path
guard. Root can change all of this.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence

from . import MARK, hard_limit, has_lowered_limit
from .process_tree import Find, Process, ancestors, from_proc, from_ps

HARMLESS = (("config", "path"), ("config", "schema"), ("skills", "validate"))
"""Commands that a tool may run: they change nothing, start no plugin and show nothing private.
What is not listed is refused, whoever provides it."""
_WORD = re.compile(r"[a-z][a-z0-9-]*")
_HELP = ("--help", "-h")
_REAPERS = frozenset(
    {"systemd", "init", "launchd", "tini", "dumb-init", "docker-init", "catatonit"}
)
"""Programs that orphans are handed to; they are nobody's real parent."""


def refusal(arguments: Sequence[str]) -> str:
    """Why ``hookline ARGUMENTS`` may not run in this process; empty if it may."""
    if _is_harmless(arguments):
        return ""
    sign = _sign()
    return sign and (
        f"this can be done only by a person, and {sign}. Run `hookline` in your own terminal."
    )


def _sign() -> str:
    """What shows that a tool started this process, as the end of a sentence; empty if nothing."""
    if MARK in os.environ:
        return f"a tool started this process ({MARK} is set)"
    if has_lowered_limit():
        return (
            "a tool started this process (its hard limit on POSIX message queues, `ulimit -Hq`, "
            f"is {hard_limit()} bytes)"
        )
    if sys.platform == "linux":
        return sign_among(from_proc(os.getpid()), from_proc, ())
    if sys.platform == "win32":
        return ""
    listed = from_ps()
    return sign_among(listed.get(os.getpid()), listed.get, listed.values())


def _is_harmless(arguments: Sequence[str]) -> bool:
    """Help and versions too; only without other options, which could take ``--help`` as a value."""
    *words, last = [*arguments] or ["--help"]
    if last in (*_HELP, "--version", "-V") and all(map(_WORD.fullmatch, words)):
        return last in _HELP or not words
    return tuple(arguments[:2]) in HARMLESS


def sign_among(me: Process | None, find: Find, everyone: Iterable[Process]) -> str:
    """What shows, among the living processes, that a tool started ``me``; empty if nothing does."""
    if me is None:
        return "it cannot be told who started this process, because /proc or ps does not show it"
    if me.is_tool:
        return "a tool started this process"
    above = ancestors(me, find)
    for process in above:
        if process.is_tool:
            return f"process {process.pid} ({process.name}), which started this one, runs tools"
    if stray := _strayed_from(me, above, find, everyone):
        return (
            f"this process has neither a terminal nor a parent, and process {stray.pid} "
            f"({stray.name}), which runs tools, was there before it"
        )
    return ""


def _strayed_from(
    me: Process, above: Sequence[Process], find: Find, everyone: Iterable[Process]
) -> Process | None:
    """The process that runs turns of which ``me`` may be an orphan."""
    if me.has_terminal or not above or above[-1].pid != 1:
        return None  # a parent outside of the PID namespace leaves no process 1 at the end
    family = [me, *(one for one in above if one.pid != 1 and one.name not in _REAPERS)]
    if (leader := find(me.session)) is not None:
        family.append(leader)
    oldest = min(process.started for process in family)
    for process in everyone:
        same = (process.user, process.place) == (me.user, me.place)
        if process.is_tool and same and process.pid != me.pid and process.started < oldest:
            return process
    return None
