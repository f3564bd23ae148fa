"""The sandbox: wraps a program's command line and environment by the best method."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from .limits import Limits
from .methods import Found, Method, found
from .private import PrivateFolders
from .programs import programs
from .starting import PORT
from .survey import Survey
from .view import View, within

_PROXIED = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy")
_LOCAL = "localhost,127.0.0.1,::1"


@dataclass(frozen=True, slots=True)
class Places:
    """The places of one program. ``refused`` returns why file tools may not open a path."""

    folder: Path
    workspace: Path
    refused: Callable[[str], str | None]


class Sandbox:
    """Wraps programs; keeps a private ``/tmp`` and home for each key.

    home: Hookline's own folder. limits: of every program. read_only, writable: folders that are
    visible besides the system and the workspace; ``~`` is the person's home. method: used
    instead of the one that :func:`found` returns.
    """

    def __init__(
        self,
        home: Path,
        limits: Limits | None = None,
        *,
        read_only: Sequence[str] = (),
        writable: Sequence[str] = (),
        method: Method | None = None,
    ) -> None:
        self._home = home.expanduser().resolve()
        self._limits = limits or Limits()
        self._read_only = [Path(place).expanduser() for place in read_only]
        self._writable = [Path(place).expanduser() for place in writable]
        self._method = method
        self._private = PrivateFolders(self._limits.private_mb)
        self._surveys: dict[Path, Survey] = {}

    @property
    def method(self) -> Method:
        """What isolates programs. With ``NONE``, nothing may be run."""
        return self._method or self.found.method

    @property
    def found(self) -> Found:
        """The best method here; tried at first use (up to four seconds)."""
        return found()

    def environment(
        self, environment: Mapping[str, str], key: str, proxy: Path | None = None
    ) -> dict[str, str]:
        """Return ``environment`` with the private folders and, instead of others, this proxy."""
        kept = {n: v for n, v in environment.items() if n not in _PROXIED and "proxy" not in n}
        private = self._private.folder(key)
        if self.method is Method.LANDLOCK:
            return kept | {"HOME": str(private / "home"), "TMPDIR": str(private / "tmp")}
        kept |= {"HOME": str(Path.home()), "TMPDIR": "/tmp"}  # noqa: S108 - the sandbox's own
        if proxy is None:
            return kept
        where = f"http://127.0.0.1:{PORT}"
        return kept | dict.fromkeys(_PROXIED, where) | {"NO_PROXY": _LOCAL, "no_proxy": _LOCAL}

    def wrapped(
        self,
        argv: Sequence[str],
        places: Places,
        environment: Mapping[str, str],
        key: str,
        proxy: Path | None = None,
    ) -> list[str]:
        """Return the command line that runs ``argv`` sandboxed; ``argv[0]`` is an absolute path.

        proxy: the socket of a proxy, only with bubblewrap; Landlock cannot guard a network.

        Raises:
            RuntimeError: no method works here, or Landlock was asked for a network.
        """
        view = self._view(places, environment, key)
        if self.method is Method.BUBBLEWRAP:
            from . import bubblewrap

            view = replace(view, proxy=proxy)
            return bubblewrap.wrapped(argv, places.folder, view, self._limits)
        if self.method is Method.LANDLOCK and proxy is None:
            from . import confinement

            return confinement.wrapped(argv, view, self._limits)
        raise RuntimeError(f"no sandbox for this program: {self.found.why}")

    def emptied(self, key: str) -> bool:
        """Empty the private folders of ``key`` if they exceed the limit; return whether so."""
        return self._private.emptied(key)

    def close(self) -> None:
        """Remove the private folders."""
        self._private.close()

    def _view(self, places: Places, environment: Mapping[str, str], key: str) -> View:
        workspace = places.workspace
        refused = _RefusedOrHome(places.refused, self._home)
        survey = self._surveys.setdefault(workspace, Survey(workspace, refused))
        survey.refused = refused
        shown = programs(environment, workspace, self._home)
        own = Path(__file__).parent.resolve()
        findings = survey.findings()
        if within(own, [workspace]):  # the sandbox's own code
            findings = replace(findings, frozen=(*findings.frozen, str(own)))
        return View(
            workspace,
            self._private.folder(key),
            self._home,
            findings,
            (*shown, *self._read_only),
            self._writable,
        )


class _RefusedOrHome:
    """Refuses what file tools refuse, and Hookline's home."""

    def __init__(self, refused: Callable[[str], str | None], home: Path) -> None:
        self._refused, self._home = refused, str(home)

    def __call__(self, path: str) -> str | None:
        return "it is Hookline's own" if path == self._home else self._refused(path)
