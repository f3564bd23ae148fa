"""Marks processes that tools start: :func:`mark_command` sets the mark, :func:`is_marked` reads it.

The mark has two parts. A variable of the environment (:data:`MARK`) names the command, but a child
can unset it. So the hard limit on POSIX message queues, which almost nothing uses, is lowered to
:data:`LIMIT` as well: children inherit it, and only ``CAP_SYS_RESOURCE`` can raise it again
(getrlimit(2), capabilities(7)). Systems without this limit (macOS) have only the variable.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

from hookline_hookspecs.own_programs import own_program

__all__ = [
    "LIMIT",
    "MARK",
    "hard_limit",
    "has_lowered_limit",
    "is_marked",
    "lower_limit",
    "mark_command",
]

MARK = "SHELL_COMMAND_ID"
"""A variable in the environment of every command of a tool; the value names the command."""
LIMIT = 819_191
"""Bytes. Linux gives every process 819,200 (``MQ_BYTES_MAX``, include/uapi/linux/mqueue.h); a hard
limit of this or less was lowered by a tool, or by a descendant that tried to hide the mark."""
_BY_BASH = 'ulimit -q "$0" && exec "$@"'
_BY_PYTHON = (
    "import os,resource,sys; n=int(sys.argv[1]);"
    " resource.setrlimit(resource.RLIMIT_MSGQUEUE,(n,n)); os.execvp(sys.argv[2],sys.argv[2:])"
)


def is_marked(environment: Mapping[str, str] | None = None) -> bool:
    """Whether a tool started this process or one of its ancestors.

    ``environment`` is used instead of this process's own.
    """
    names = os.environ if environment is None else environment
    return MARK in names or has_lowered_limit()


def has_lowered_limit() -> bool:
    """Whether the limit of this process is at most :data:`LIMIT`."""
    return 0 <= hard_limit() <= LIMIT


def lower_limit() -> None:
    """Lower the limit of this process and its future children; does nothing outside Linux."""
    if sys.platform == "linux" and not has_lowered_limit():
        import resource

        resource.setrlimit(resource.RLIMIT_MSGQUEUE, (LIMIT, LIMIT))


def hard_limit() -> int:
    """Return this process's hard limit in bytes; -1 if there is none."""
    try:
        import resource

        found = resource.getrlimit(resource.RLIMIT_MSGQUEUE)[1]
    except (ImportError, AttributeError, OSError, ValueError):
        return -1
    return -1 if found == resource.RLIM_INFINITY else found


def mark_command(argv: Sequence[str]) -> list[str]:
    """Return the command line that lowers the limit and becomes ``argv``; ``argv`` outside Linux.

    A limit that is already lower stays. The caller puts the mark into the environment. The
    process that is started becomes the program; no process waits in between.
    """
    if sys.platform != "linux" or has_lowered_limit():
        return list(argv)
    if bash := own_program("bash"):
        return [bash, "--norc", "-c", _BY_BASH, str(LIMIT), *argv]
    if prlimit := own_program("prlimit"):
        return [prlimit, f"--msgqueue={LIMIT}:{LIMIT}", *argv]
    return [sys.executable, "-I", "-S", "-c", _BY_PYTHON, str(LIMIT), *argv]
