"""Checks that no tool of Hookline started this process, which may then administer Hookline.

It looks for three signs, the cheapest first:

1. *The mark*, in this process's environment or limits. A process that runs turns marks itself
   before it starts anything (:mod:`.command_guard`), so its descendants keep the limit: through
   ``env -i``, ``setsid``, a double fork, ``nohup``, or the death of the runtime. Its children also
   lose the capability to raise limits.
2. *An ancestor* that is marked or runs turns. This finds a process that removed its mark, if that
   is possible (not on Linux, or the account may raise limits), while its parents live.
3. *A stray process*, on systems where the mark can be removed (macOS and others): it has no
   terminal, no living ancestors except those that adopt orphans, and its whole family is younger
   than a process of the same account that runs turns. A command whose parents have died looks like
   this. Other processes without a terminal have an older ancestor: a CI step, a script or a test
   one of its own, and cron and sshd are old and alive. On Linux no process can remove the mark, and
   a stray process is a person's ``nohup``.

It does not find processes that another daemon starts for a tool in its own control group
(``systemd-run``, ``at``), commands typed into an open terminal (``tmux send-keys``), and a copy of
this code without the check; the command rules, the sandbox and the path guard cover these. Root can
change all of this.
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
All others are refused, those of plugins too."""
_WORD = re.compile(r"[a-z][a-z0-9-]*")
_HELP = ("--help", "-h")
_REAPERS = frozenset(
    {"systemd", "init", "launchd", "tini", "dumb-init", "docker-init", "catatonit"}
)
"""Programs that adopt orphans; they are not the real parents."""


def refusal(arguments: Sequence[str]) -> str:
    """Return why ``hookline ARGUMENTS`` may not run in this process; empty if it may."""
    if _is_harmless(arguments):
        return ""
    sign = _sign()
    return sign and (f"only a person can do this, and {sign}. Run `hookline` in your own terminal.")


def _sign() -> str:
    """Return the sign that a tool started this process, as a clause; empty if there is none."""
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
    """Whether a tool may run this. An option could take ``--help`` as its value."""
    *words, last = [*arguments] or ["--help"]
    if last in (*_HELP, "--version", "-V") and all(map(_WORD.fullmatch, words)):
        return last in _HELP or not words
    return tuple(arguments[:2]) in HARMLESS


def sign_among(me: Process | None, find: Find, everyone: Iterable[Process]) -> str:
    """Return the sign among living processes that a tool started ``me``; empty if there is none."""
    if me is None:
        return "its origin is unknown, because /proc or ps does not show this process"
    if me.is_tool:
        return "a tool started this process"
    above = ancestors(me, find)
    for process in above:
        if process.is_tool:
            return f"process {process.pid} ({process.name}), which started this one, runs tools"
    if stray := _strayed_from(me, above, find, everyone):
        return (
            f"this process has neither a terminal nor a parent, and process {stray.pid} "
            f"({stray.name}), which runs tools, is older"
        )
    return ""


def _strayed_from(
    me: Process, above: Sequence[Process], find: Find, everyone: Iterable[Process]
) -> Process | None:
    """Return the process that runs turns whose orphan ``me`` may be."""
    if me.has_terminal or not above or above[-1].pid != 1:
        return None  # without process 1 at the end, a parent is outside the PID namespace
    family = [me, *(one for one in above if one.pid != 1 and one.name not in _REAPERS)]
    if (leader := find(me.session)) is not None:
        family.append(leader)
    oldest = min(process.started for process in family)
    for process in everyone:
        same = (process.user, process.place) == (me.user, me.place)
        if process.is_tool and same and process.pid != me.pid and process.started < oldest:
            return process
    return None
