"""Sets limits, applies Landlock or opens the way to the proxy, and becomes a program.

Run as ``python -I -S -c "…; start.main()" SETTINGS PROGRAM…``. SETTINGS is JSON with ``limits`` by
the names in ``resource``; ``landlock``, the settings for :mod:`landlock`, or null; ``proxy``, the
path of the Unix socket to forward a loopback port to, or null; that ``port``; and
``local_ports`` of the machine, which lead through the proxy.
"""

import json
import os
import resource
import sys


def main() -> None:
    """Apply the settings of the command line and become the program."""
    settings, program = json.loads(sys.argv[1]), sys.argv[2:]
    try:
        set_limits(settings["limits"], with_others=bool(settings["landlock"]))
        if settings["proxy"]:
            from . import forward

            forward.start(settings["proxy"], settings["port"], settings["local_ports"])
        if settings["landlock"]:
            from . import landlock

            landlock.restrict(settings["landlock"])
        os.execv(program[0], program)  # noqa: S606
    except OSError as error:
        print(f"the sandbox failed: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(126)


def set_limits(limits: dict[str, int], *, with_others: bool) -> None:
    """Set limits by their names in ``resource``; those that are already lower stay.

    with_others: the number of processes includes those that the account has already.
    """
    for name, value in limits.items():
        others = _account_threads() if with_others and name == "RLIMIT_NPROC" else 0
        _limit(getattr(resource, name), value + others)


def _limit(kind: int, value: int) -> None:
    hard = resource.getrlimit(kind)[1]
    if hard == resource.RLIM_INFINITY or hard > value:
        resource.setrlimit(kind, (value, value))


def _account_threads() -> int:
    return sum(map(_threads, filter(str.isdigit, os.listdir("/proc"))))  # noqa: PTH208


def _threads(process: str) -> int:
    try:
        if os.stat(f"/proc/{process}").st_uid != os.getuid():  # noqa: PTH116
            return 0
        with open(f"/proc/{process}/stat", "rb") as file:  # noqa: PTH123
            return int(file.read().rpartition(b")")[2].split()[17])
    except (OSError, ValueError, IndexError):
        return 0
