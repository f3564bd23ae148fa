"""Makes the profile for macOS's ``sandbox-exec``, and the command line that runs a program with it.

Everything is denied at first. Later rules of a profile win over earlier ones, so the paths that are
hidden or protected come last. Untried on macOS. Sources: sandbox-exec(1), and the profiles in
/System/Library/Sandbox/Profiles of macOS 14.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from .limits import Limits
from .tables import tables
from .view import View, within

PROGRAM = "/usr/bin/sandbox-exec"
_BASH = "/bin/bash"
_DEVICES = ("/dev/null", "/dev/zero", "/dev/tty", "/dev/dtracehelper")
_GENERAL = """\
(version 1)
(deny default)
(allow process-exec process-fork)
(allow signal process-info* (target same-sandbox))
(allow sysctl-read pseudo-tty ipc-posix-sem ipc-posix-shm)
(allow file-read-metadata)
(allow file-read* (literal "/"))
(allow file-read* (subpath "/dev"))
(allow file-ioctl (subpath "/dev"))"""


def probe() -> list[str]:
    """Return a command line that succeeds where ``sandbox-exec`` works."""
    return [PROGRAM, "-p", "(version 1)(allow default)", "/bin/sh", "-c", ":"]


def wrapped(argv: Sequence[str], view: View, limits: Limits) -> list[str]:
    """Return the command line that runs ``argv`` with ``view`` and ``limits``."""
    return limits.shell(_BASH, [PROGRAM, "-p", profile(view), *argv])


def profile(view: View) -> str:
    """Return the profile for a view. Its paths are those of the files themselves, without links."""
    writable = [view.workspace, view.private / "tmp", view.private / "home", *view.writable]
    if view.repository is not None:
        writable.append(view.repository)
    writable = [Path(os.path.realpath(place)) for place in writable]  # /tmp is a link
    lines = [
        _GENERAL,
        _rule("allow", "file-read*", _subpaths([*tables()["macos_system"], *view.read_only])),
        _rule("allow", "file-write-data file-read*", _literals(_DEVICES)),
        _rule("allow", "file-read* file-write*", _subpaths(writable)),
        _rule("allow", "mach-lookup", _names(tables()["macos_services"])),
        *_network(view, writable),
        *_protected(view),
    ]
    return "\n".join(line for line in lines if line) + "\n"


def _network(view: View, writable: Iterable[Path]) -> Iterator[str]:
    """Yield rules for the proxy, granted ports, own servers and Unix sockets of the workspace.

    A program cannot connect to its own servers: all programs share one loopback.
    """
    sockets = [f"(remote unix-socket {place})" for place in _subpaths(writable)]
    yield _rule("allow", "network-outbound", sockets)
    yield '(allow network-bind network-inbound (local ip "localhost:*"))'
    ports = [*([view.proxy_port] if view.proxy_port else []), *view.local_ports]
    yield _rule("allow", "network-outbound", [f'(remote ip "localhost:{port}")' for port in ports])


def _protected(view: View) -> Iterator[str]:
    """Yield rules that hide and protect paths, and hold the folders around them in place."""
    hidden = list(view.findings.hidden)
    if within(view.home, view.visible()):
        hidden.append(str(view.home))
    frozen = [*view.findings.frozen, *view.read_only_inside]
    around = _around([*hidden, *frozen, *view.findings.pinned], view)
    yield _rule("deny", "file-write*", _subpaths(frozen))
    yield _rule("deny", "file-read* file-write*", _subpaths(hidden))
    yield _rule("deny", "file-write-unlink", _literals([*view.findings.pinned, *around]))


def _around(paths: Iterable[str], view: View) -> list[str]:
    """Return the folders from each path up to the visible folder: renaming one moves the path."""
    roots = {str(root) for root in view.visible()}
    found: dict[str, None] = {}
    for path in paths:
        folder = os.path.dirname(path)  # noqa: PTH120
        while folder not in found and folder not in ("/", ""):
            found[folder] = None
            if folder in roots:
                break
            folder = os.path.dirname(folder)  # noqa: PTH120
    return list(found)


def _rule(verdict: str, operations: str, filters: Sequence[str]) -> str:
    """Return one rule; empty without filters, because it would then apply to everything."""
    return f"({verdict} {operations}\n  {' '.join(filters)})" if filters else ""


def _subpaths(paths: Iterable[Path | str]) -> list[str]:
    return [f"(subpath {_quoted(path)})" for path in paths]


def _literals(paths: Iterable[Path | str]) -> list[str]:
    return [f"(literal {_quoted(path)})" for path in paths]


def _names(names: Iterable[str]) -> list[str]:
    return [f"(global-name {_quoted(name)})" for name in names]


def _quoted(text: Path | str) -> str:
    """Return a string of the profile's language. Raises ``ValueError`` for control characters."""
    whole = str(text)
    if not whole.isprintable():
        raise ValueError(f"the path {whole!r} cannot be written in a sandbox profile")
    escaped = whole.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
