"""Makes the command line of bubblewrap (bwrap(1)): a mount namespace that contains only a view."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from hookline_hookspecs.own_programs import own_program

from .inside import filters
from .launcher import needed, started
from .limits import Limits
from .tables import tables
from .view import View, within

_SMALL = 65_536
_MEMORY_FOLDER = 268_435_456
"""Maximum bytes of each folder in memory (``/run``, ``/dev/shm``)."""
PROXY = Path("/run/hookline-proxy")
"""Path of the proxy's socket inside the sandbox."""
HOME = Path("/run/home")
"""The private home inside the sandbox. It is never the workspace or around it, so that a command
which empties the home cannot empty the workspace."""


@dataclass(frozen=True, slots=True)
class _Mount:
    """A mount at ``target``. Parents are mounted before their contents."""

    target: str
    words: tuple[str, ...]
    read_only: bool = False
    """Made read-only at the end, after all mount points inside it."""


def probe() -> list[str]:
    """Return a command line that succeeds where bubblewrap works."""
    return [_program(), *probe_options(), "--", "/bin/sh", "-c", ":"]


def probe_options() -> list[str]:
    """Return the options with which a trial sees only the system."""
    return [*_isolated(), *(word for mount in _system() for word in mount.words)]


def wrapped(
    argv: Sequence[str], folder: Path, view: View, limits: Limits, *, ends_together: bool = False
) -> list[str]:
    """Return the command line that runs ``argv`` in ``folder`` with ``view`` and ``limits``.

    ``argv[0]`` is an absolute path. ends_together: all processes inside end when the program ends,
    or the process that started it.
    """
    made = options(argv, folder, view, limits, ends_together=ends_together)
    return [*_filtered(view.private), *made]


def options(
    argv: Sequence[str], folder: Path, view: View, limits: Limits, *, ends_together: bool
) -> list[str]:
    """Return the options of such a command line, with the program."""
    mounts = sorted(_mounts(view), key=lambda mount: mount.target.rstrip("/").count("/"))
    sealed = [mount.target for mount in mounts if mount.read_only]
    inner = started(argv, limits, PROXY if view.proxy else None, view.local_ports)
    return [
        *(("--die-with-parent",) if ends_together else ()),
        *_isolated(),
        *(word for mount in mounts for word in mount.words),
        *(word for target in reversed(sealed) for word in ("--remount-ro", target)),
        *("--remount-ro", "/", "--chdir", str(folder), "--", *inner),
    ]


def _filtered(folder: Path) -> list[str]:
    """Return bubblewrap's command with a system call filter, read from a file descriptor.

    There is no filter without bash, which opens the descriptor, or for other machine types.
    """
    bash = own_program("bash", path="/usr/bin:/bin")
    file = filter_file(folder)
    if bash is None or file is None:
        return [_program()]
    line = 'exec "$@" 9<"$0"'
    return [bash, "--norc", "-c", line, str(file), _program(), "--seccomp", "9"]


def filter_file(folder: Path) -> Path | None:
    """Return a file in ``folder`` with the system call filter; None for other machine types."""
    file = folder / "filter"
    try:
        if not file.exists():
            file.write_bytes(filters.held_sockets())
    except OSError:
        return None
    return file


def _program() -> str:
    program = own_program("bwrap")
    if program is None:
        raise FileNotFoundError("bwrap is not installed where no tool may write")
    return program


def _isolated() -> Iterator[str]:
    yield from ("--unshare-all", "--cap-drop", "ALL", "--hostname", "sandbox")
    yield from ("--proc", "/proc", "--dev", "/dev")
    yield from ("--size", str(_MEMORY_FOLDER), "--tmpfs", "/dev/shm", "--remount-ro", "/dev")  # noqa: S108


def _mounts(view: View) -> Iterator[_Mount]:
    yield from _system()
    private = view.private
    for source, target in ((private / "tmp", "/tmp"), (private / "home", HOME)):  # noqa: S108
        yield _bound("--bind", source, target)
    for kind, places in (("--ro-bind", view.read_only), ("--bind", view.writable)):
        for place in places:
            if os.path.exists(place):  # noqa: PTH110 - False without permission
                yield _bound(kind, place, place)
    yield _bound("--bind", view.workspace, view.workspace)
    if view.repository is not None:
        yield _bound("--bind", view.repository, view.repository)
    yield from _within(view)
    if view.proxy is not None:
        yield _bound("--ro-bind", view.proxy, PROXY)
    for name in needed():
        yield _bound("--ro-bind", name, name)


def _within(view: View) -> Iterator[_Mount]:
    """Yield mounts that hide or protect paths in the visible folders."""
    if within(view.home, view.visible()):
        yield from _covered(view.home)
    sealed = [Path(path) for path in view.read_only_inside]
    pinned = [*view.findings.pinned, *view.around_read_only()]
    pinned = [path for path in pinned if not within(path, sealed)]  # it would be writable there
    read_only = [*view.findings.frozen, *view.read_only_inside]
    for kind, paths in (("--bind", pinned), ("--ro-bind", read_only)):
        for path in dict.fromkeys(paths):
            if os.path.lexists(path):  # a mount on a missing path would create it
                yield _bound(kind, path, path)
    for path in view.findings.hidden:
        if Path(path) != view.home:
            yield from _covered(Path(path))


@lru_cache(maxsize=1)
def _system() -> tuple[_Mount, ...]:
    """Return mounts of the system's folders; links stay links."""
    return tuple(_own())


def _own() -> Iterator[_Mount]:
    yield _Mount("/run", ("--size", str(_MEMORY_FOLDER), "--tmpfs", "/run"))
    yield _Mount("/var/tmp", ("--size", str(_MEMORY_FOLDER), "--tmpfs", "/var/tmp"))  # noqa: S108
    for name in tables()["system"]:
        place = Path(name)
        if place.is_symlink():
            yield _Mount(name, ("--symlink", str(place.readlink()), name))
        elif place.exists():
            yield _bound("--ro-bind", place, place)
    for pattern in tables()["hidden"]:
        for place in sorted(Path("/").glob(pattern.lstrip("/"))):
            yield from _covered(place)
    yield from _resolver()


def _covered(place: Path) -> Iterator[_Mount]:
    """Cover a folder with an empty folder, and a file with an empty file."""
    if place.is_symlink():
        return  # its target is covered or not visible
    if os.path.isdir(place):  # noqa: PTH112
        words = ("--size", str(_SMALL), "--tmpfs", str(place))
        yield _Mount(str(place), words, read_only=True)
    elif os.path.exists(place):  # noqa: PTH110
        yield _bound("--ro-bind", Path(os.devnull), place)


def _resolver() -> Iterator[_Mount]:
    """Mount the file with the name servers if it is a link into a folder that is not visible."""
    target = Path(os.path.realpath("/etc/resolv.conf"))
    if target.exists() and not target.is_relative_to("/etc"):
        yield _bound("--ro-bind", target, target)


def _bound(kind: str, source: Path | str, target: Path | str) -> _Mount:
    return _Mount(str(target), (kind, str(source), str(target)))
