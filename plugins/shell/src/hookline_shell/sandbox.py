"""The sandbox: a command sees the system read-only, the workspace, and nothing else of the machine.

bubblewrap does it (bwrap(1)). Where it is missing or not allowed to, nothing is run: see
:func:`refusal`. What is visible stands in ``sandbox.yaml``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hookline_hookspecs import Paths

    from .config import SandboxConfig

_PROBE_SECONDS = 4
_SWITCH_OFF = "or switch it off with `plugins: {shell: {sandbox: {enabled: false}}}`"
_ALLOW = (
    "let users make namespaces (`sysctl kernel.unprivileged_userns_clone=1`, "
    "`sysctl kernel.apparmor_restrict_unprivileged_userns=0`; in a container, a security profile "
    f"that permits it) {_SWITCH_OFF}"
)


@cache
def _tables() -> Mapping[str, Any]:
    import yaml

    tables: Mapping[str, Any] = yaml.safe_load(
        files(__package__).joinpath("sandbox.yaml").read_text("utf-8")
    )
    return tables


@dataclass(frozen=True)
class Refusal:
    """Why no sandbox can be made, and what to do about it."""

    why: str
    fix: str

    def __str__(self) -> str:
        return f"{self.why}; {self.fix}"


@cache
def refusal() -> Refusal | None:
    """Why no sandbox can be made here; None if one can.

    Tried once with a command that does nothing (up to four seconds).
    """
    program = shutil.which("bwrap")
    if program is None:
        return Refusal(
            "the sandbox needs bubblewrap, and there is no bwrap on this machine's PATH",
            f"install it (`apt install bubblewrap`, `dnf install bubblewrap`) {_SWITCH_OFF}",
        )
    trial = [program, *_isolated(network=False), *_system(), "/bin/sh", "-c", ":"]
    try:
        tried = subprocess.run(
            trial, capture_output=True, timeout=_PROBE_SECONDS, text=True, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Refusal(f"the sandbox does not work here: {error}", _ALLOW)
    if tried.returncode:
        said = tried.stderr.strip().splitlines()
        why = said[-1] if said else f"exit code {tried.returncode}"
        return Refusal(f"the sandbox does not work here: {why}", _ALLOW)
    return None


@dataclass
class Sandbox:
    """Wraps commands; keeps a private ``/tmp`` and home for each session."""

    config: SandboxConfig
    keep: Sequence[str] = ()
    """Variables that are passed on beside the usual ones."""
    _folders: dict[str, Path] = field(default_factory=dict)

    def environment(self, environment: Mapping[str, str]) -> dict[str, str]:
        """What a command sees of ``environment``, with the private folders."""
        names = {*_tables()["environment"], *self.keep}
        passed = {name: text for name, text in environment.items() if name in names}
        return passed | {"HOME": str(_home()), "TMPDIR": "/tmp"}  # noqa: S108 - the sandbox's own

    def wrap(self, argv: Sequence[str], folder: Path, paths: Paths, session: str) -> list[str]:
        """The command line that runs ``argv`` in ``folder``, sandboxed.

        ``argv[0]`` is an absolute path. The workspace of ``paths`` can be written, but for what
        ``paths`` refuses at its top: that is covered up.
        """
        private = self._private(session)
        program = os.path.realpath(argv[0])
        return [
            shutil.which("bwrap") or "bwrap",
            *_isolated(network=self.config.network),
            *_system(),
            *(_resolver() if self.config.network else ()),
            *_bound("--bind", private / "tmp", Path("/tmp")),  # noqa: S108 - the sandbox's own
            *_bound("--bind", private / "home", _home()),
            *self._extra(),
            *_bound("--bind", paths.workspace, paths.workspace),
            *_covered(_refused(paths)),
            *("--chdir", str(folder), "--", program, *argv[1:]),
        ]

    def _extra(self) -> Iterator[str]:
        for kind, places in (
            ("--ro-bind", self.config.read_only),
            ("--bind", self.config.writable),
        ):
            for place in map(Path, places):
                where = place.expanduser()
                if where.exists():
                    yield from _bound(kind, where, where)

    def _private(self, session: str) -> Path:
        if session not in self._folders:
            made = Path(tempfile.mkdtemp(prefix="hookline-sandbox-"))
            for name in ("tmp", "home"):
                (made / name).mkdir()
            self._folders[session] = made
        return self._folders[session]

    def close(self) -> None:
        """Remove the private folders."""
        for folder in self._folders.values():
            shutil.rmtree(folder, ignore_errors=True)
        self._folders.clear()


def _home() -> Path:
    return Path.home()


def _isolated(*, network: bool) -> Iterator[str]:
    yield from ("--unshare-all", "--cap-drop", "ALL", "--hostname", "sandbox")
    yield from ("--proc", "/proc", "--dev", "/dev", "--tmpfs", "/run", "--dir", "/var/tmp")  # noqa: S108
    if network:
        yield "--share-net"


def _system() -> Iterator[str]:
    """The machine's own folders, links among them as links."""
    for name in _tables()["system"]:
        place = Path(name)
        if place.is_symlink():
            yield from ("--symlink", str(place.readlink()), name)
        elif place.exists():
            yield from _bound("--ro-bind", place, place)
    root = Path("/")
    for pattern in _tables()["hidden"]:
        yield from _covered(sorted(root.glob(pattern.lstrip("/"))))


def _covered(places: Iterable[Path]) -> Iterator[str]:
    """An empty folder over a folder, an empty file over a file."""
    for place in places:
        if place.is_symlink():
            continue  # its target is covered, or not there
        if place.is_dir():
            yield from ("--tmpfs", str(place), "--remount-ro", str(place))
        elif place.exists():
            yield from _bound("--ro-bind", Path(os.devnull), place)


def _refused(paths: Paths) -> Iterator[Path]:
    for entry in sorted(paths.workspace.iterdir()):
        if paths.judge(str(entry)) is not None:
            yield entry


def _resolver() -> Iterator[str]:
    """The file with the name servers, where it is a link into a folder that is not shown."""
    target = Path(os.path.realpath("/etc/resolv.conf"))
    if target.exists() and not target.is_relative_to("/etc"):
        yield from _bound("--ro-bind", target, target)


def _bound(kind: str, source: Path, target: Path) -> tuple[str, str, str]:
    return kind, str(source), str(target)
