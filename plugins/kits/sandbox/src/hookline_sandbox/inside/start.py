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
        for name, value in settings["limits"].items():
            _limit(getattr(resource, name), _whole(name, value, settings))
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


def _limit(kind: int, value: int) -> None:
    hard = resource.getrlimit(kind)[1]
    if hard == resource.RLIM_INFINITY or hard > value:
        resource.setrlimit(kind, (value, value))


def _whole(name: str, value: int, settings: dict[str, object]) -> int:
    """Return the limit; with Landlock it includes the account's other processes."""
    if name != "RLIMIT_NPROC" or not settings["landlock"]:
        return value
    return value + sum(map(_threads, filter(str.isdigit, os.listdir("/proc"))))  # noqa: PTH208


def _threads(process: str) -> int:
    try:
        if os.stat(f"/proc/{process}").st_uid != os.getuid():  # noqa: PTH116
            return 0
        with open(f"/proc/{process}/stat", "rb") as file:  # noqa: PTH123
            return int(file.read().rpartition(b")")[2].split()[17])
    except (OSError, ValueError, IndexError):
        return 0
