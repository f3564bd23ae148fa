"""Makes Landlock's rules for a view (landlock(7)): everything that is not granted is refused.

A folder's rights apply to everything below it and cannot be revoked there. So if something inside
is hidden or frozen, the folder itself may only be listed, and its entries are granted one by one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from .launcher import PORT, by_python, inside, interpreter, needed
from .limits import Limits
from .tables import tables
from .view import View, within


def probe() -> list[str]:
    """Return a command line that succeeds where Landlock and seccomp work."""
    return [str(interpreter()), "-I", "-S", "-c", inside("landlock.probe()")]


def probe_supervision() -> list[str]:
    """Return a command line that succeeds where a network can be supervised under Landlock."""
    call = inside("landlock.probe_supervision()")
    return [str(interpreter()), "-I", "-S", "-c", call]


def server_settings(view: View, *, supervised: bool) -> dict[str, object]:
    """Return the settings of the server that starts commands (``inside/landlock_server.py``)."""
    folders = [view.private / "tmp", view.private / "home", view.workspace, *view.writable]
    return {
        "proxy": str(view.proxy) if view.proxy else None,
        "port": PORT,
        "local_ports": list(view.local_ports),
        "folders": [str(folder.resolve()) for folder in folders],
        "hidden": _hidden(view),
        "supervised": supervised,
    }


def wrapped(argv: Sequence[str], view: View, limits: Limits) -> list[str]:
    """Return the command line that runs ``argv`` with ``view`` and ``limits``, without network."""
    return by_python(argv, limits, landlock=rules(view))


def rules(view: View) -> dict[str, list[str]]:
    """Return paths by granted rights: ``write`` (all), ``read`` (and execute), ``list`` (names)."""
    granted: dict[str, list[str]] = {
        "write": [str(view.private / "tmp"), str(view.private / "home"), *tables()["devices"]],
        "read": [*_system(), *tables()["machine"], *map(str, needed())],
        "list": [],
    }
    hidden = set(_hidden(view))
    kept = set(view.kept)
    frozen = [path for path in view.findings.frozen if path not in kept]
    frozen += view.read_only_inside
    barred = hidden.union(frozen) - kept
    for kind, places in (("read", view.read_only), ("write", view.writable)):
        for place in places:
            _grant(granted, kind, str(place), {str(view.home)})
    for path in frozen:
        _grant(granted, "read", path, hidden)
    for folder in filter(None, (view.workspace, view.repository)):
        _grant(granted, "write", str(folder), barred)
    return granted


def _hidden(view: View) -> list[str]:
    return [*view.findings.hidden, str(view.home)]


def _grant(granted: dict[str, list[str]], kind: str, place: str, barred: set[str]) -> None:
    if place in barred:
        return
    inside = [path for path in barred if within(path, [Path(place)])]
    if not inside:
        granted[kind].append(place)
        return
    granted["list"].append(place)
    for entry in _entries(place):
        _grant(granted, kind, entry, barred)


def _entries(place: str) -> list[str]:
    try:
        with os.scandir(place) as found:
            return [entry.path for entry in found if not entry.is_symlink()]
    except OSError:
        return []


@lru_cache(maxsize=1)
def _system() -> tuple[str, ...]:
    """Return the system's folders, without hidden entries."""
    return tuple(_own())


def _own() -> Iterator[str]:
    root = Path("/")
    hidden = {str(p) for pattern in tables()["hidden"] for p in root.glob(pattern.lstrip("/"))}
    for name in tables()["system"]:
        if not Path(name).is_symlink() and Path(name).exists():
            granted: dict[str, list[str]] = {"read": [], "list": []}
            _grant(granted, "read", name, hidden)
            yield from granted["read"]
