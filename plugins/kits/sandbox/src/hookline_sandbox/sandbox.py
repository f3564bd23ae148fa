"""The sandbox: wraps a program's command line and environment by the best method."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from hookline_hookspecs.own_code import own_code

from . import bubblewrap, namespaces
from .command_server import landlock_server_argv, server_argv
from .control_files import REMOVED_FOLDER, Changes, Kept, keep, put_back
from .launcher import PORT
from .limits import Limits
from .methods import Found, Method, found
from .private import PrivateFolders
from .private_home import furnish
from .programs import programs
from .repositories import outer_repository
from .survey import Findings, Survey, with_shown
from .tables import tables
from .view import View, within

_PROXIED = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy")
_LOCAL = "localhost,127.0.0.1,::1"


def _proxy_variables(port: int) -> dict[str, str]:
    kinds = ("http", "https")
    java = " ".join(f"-D{k}.proxyHost=127.0.0.1 -D{k}.proxyPort={port}" for k in kinds)
    return {
        **dict.fromkeys(_PROXIED, f"http://127.0.0.1:{port}"),
        "NO_PROXY": _LOCAL,
        "no_proxy": _LOCAL,
        "NODE_USE_ENV_PROXY": "1",  # nodejs.org/api/cli.html: from 22.21 and 24
        "JAVA_TOOL_OPTIONS": java,  # docs.oracle.com, "Java Networking and Proxies"
    }


@dataclass(frozen=True, slots=True)
class Places:
    """The places of one program. ``refused`` returns why file tools may not open a path, and
    ``protection`` why no program may make or change one, for which a person is asked.

    shows_secrets: files such as ``.env`` are visible in the workspace if Landlock is used, because
    it cannot hide a file and permit new ones beside it. read_only: real paths that no program
    changes, such as the code that Hookline runs.
    """

    folder: Path
    workspace: Path
    refused: Callable[[str], str | None]
    protection: Callable[[str], str | None]
    shows_secrets: bool = False
    read_only: tuple[str, ...] = field(default_factory=own_code)


class Sandbox:
    """Wraps programs; keeps a private ``/tmp`` and home for each key.

    home: Hookline's own folder. limits: of every program. read_only, writable: folders that are
    visible besides the system and the workspace; ``~`` is the person's home.
    """

    def __init__(
        self,
        home: Path,
        limits: Limits | None = None,
        *,
        read_only: Sequence[str] = (),
        writable: Sequence[str] = (),
    ) -> None:
        self.home = home.expanduser().resolve()
        self._limits = limits or Limits()
        self._read_only = [Path(place).expanduser() for place in read_only]
        self._writable = [Path(place).expanduser() for place in writable]
        self._private = PrivateFolders(self._limits.private_mb)
        self._surveys: dict[tuple[Path, Path | None], Survey] = {}

    @property
    def method(self) -> Method:
        """What isolates programs. With ``NONE``, nothing may be run."""
        return self.found.method

    @property
    def found(self) -> Found:
        """The best method here; tried at first use (up to six seconds)."""
        return found()

    def environment(
        self, environment: Mapping[str, str], key: str, proxy: Path | int | None = None
    ) -> dict[str, str]:
        """Return ``environment`` with the private folders and, instead of others, this proxy: its
        socket, or on macOS its port.

        Variables that place programs' own files in the person's home are left out.
        """
        kept = {n: v for n, v in environment.items() if n not in _PROXIED and "proxy" not in n}
        person = Path.home()
        for name in tables()["home_variables"]:
            if name in kept and within(kept[name], [person]):
                del kept[name]
        private = self._private.folder(key)
        if not self.method.has_namespaces:
            kept |= {"HOME": str(private / "home"), "TMPDIR": str(private / "tmp")}
        else:
            kept |= {"HOME": str(bubblewrap.HOME), "TMPDIR": "/tmp"}  # noqa: S108 - its own
        if proxy is None:
            return kept
        return kept | _proxy_variables(proxy if isinstance(proxy, int) else PORT)

    def wrapped(
        self,
        argv: Sequence[str],
        places: Places,
        environment: Mapping[str, str],
        key: str,
        proxy: Path | None = None,
        *,
        proxy_port: int = 0,
        local_ports: tuple[int, ...] = (),
    ) -> list[str]:
        """Return the command line that runs ``argv`` sandboxed; ``argv[0]`` is an absolute path.

        proxy: the socket of a proxy, only with namespaces; with Landlock only a server has one.

        Raises:
            RuntimeError: no method works here, or Landlock was asked for a network.
        """
        view = self.view(places, environment, key, proxy, local_ports)
        if proxy_port:
            view = replace(view, proxy_port=proxy_port, local_ports=local_ports)
        return self.command(argv, places.folder, view)

    def view(
        self,
        places: Places,
        environment: Mapping[str, str],
        key: str,
        proxy: Path | None = None,
        local_ports: tuple[int, ...] = (),
        kept: Iterable[str] = (),
    ) -> View:
        """Survey the workspace and return what a program sees.

        kept: paths that :meth:`keep` kept whole.
        """
        workspace = places.workspace
        repository = outer_repository(workspace)
        findings = with_shown(self.findings(places), self._read_only)
        frozen = [*findings.frozen, *_targets(findings.links, workspace)]
        roots = [workspace, *([repository] if repository else []), *self._writable]
        shown = programs(environment, workspace, self.home)
        private = self._private.folder(key)
        furnish(private / "home", shown)
        return View(
            workspace,
            private,
            self.home,
            replace(findings, frozen=tuple(dict.fromkeys(frozen))),
            repository,
            (*shown, *self._read_only),
            self._writable,
            proxy,
            local_ports if proxy is not None else (),
            frozenset(kept).intersection(self._to_keep(places, findings)),
            read_only_inside=_inside(places.read_only, roots),
        )

    def findings(self, places: Places) -> Findings:
        """Survey the workspace."""
        return self._survey(places, outer_repository(places.workspace)).findings()

    def command(
        self, argv: Sequence[str], folder: Path, view: View, *, ends_together: bool = False
    ) -> list[str]:
        """Return the command line that runs ``argv`` in ``folder`` with ``view``.

        ends_together: what it starts ends with it, or with this process (not with Landlock). Raises
        as :meth:`wrapped` does.
        """
        if self.method.has_namespaces:
            is_bubblewrap = self.method is Method.BUBBLEWRAP
            wrapped = bubblewrap.wrapped if is_bubblewrap else namespaces.wrapped
            return wrapped(argv, folder, view, self._limits, ends_together=ends_together)
        if self.method is Method.SEATBELT:
            from . import seatbelt

            return seatbelt.wrapped(argv, view, self._limits)
        if self.method is Method.LANDLOCK and view.proxy is None:
            from . import confinement

            return confinement.wrapped(argv, view, self._limits)
        raise RuntimeError(f"no sandbox for this program: {self.found.why}")

    def server(self, places: Places, view: View) -> list[str]:
        """Return the command line of a server that starts commands with ``view``.

        Raises as :meth:`wrapped` does.
        """
        if self.method is not Method.LANDLOCK:
            return self.command(server_argv(), places.workspace, view, ends_together=True)
        from . import confinement

        is_supervised = self.method.has_network
        return landlock_server_argv(confinement.server_settings(view, supervised=is_supervised))

    def confinement(self, view: View) -> dict[str, object] | None:
        """Return how the server confines one command; None if it is confined itself."""
        if self.method is not Method.LANDLOCK:
            return None
        from . import confinement

        return {"landlock": confinement.rules(view), "limits": self._limits.values()}

    def keep(self, places: Places) -> Kept:
        """Keep what :meth:`put_back` compares later."""
        findings = self.findings(places)
        return keep(findings, self._to_keep(places, findings))

    def _to_keep(self, places: Places, findings: Findings) -> list[str]:
        """Return the paths that a program may change, because the method cannot protect them."""
        if self.method is not Method.LANDLOCK:
            return []
        frozen = [*findings.frozen, *_targets(findings.links, places.workspace)]
        return [*frozen, *_shown_secrets(places, findings)]

    def put_back(self, kept: Kept, places: Places) -> Changes:
        """Undo a program's changes of control files since ``kept``, and return them."""
        repository = outer_repository(places.workspace)
        now = self._survey(places, repository).findings()
        roots = [str(root) for root in (places.workspace, repository) if root is not None]
        return put_back(kept, now, roots, self.home / REMOVED_FOLDER)

    def emptied(self, key: str) -> bool:
        """Empty the private folders of ``key`` if they exceed the limit; return whether so."""
        return self._private.emptied(key)

    def remove(self, key: str) -> None:
        """Remove the private folders of ``key``."""
        self._private.remove(key)

    def close(self) -> None:
        """Remove the private folders."""
        self._private.close()

    def _survey(self, places: Places, repository: Path | None) -> Survey:
        refused = _RefusedOrHome(places.refused, self.home)
        key = (places.workspace, repository)
        made = Survey(places.workspace, refused, places.protection, repository)
        survey = self._surveys.setdefault(key, made)
        survey.refused, survey.protection = refused, places.protection
        return survey


def _shown_secrets(places: Places, findings: Findings) -> list[str]:
    """Return hidden paths that are shown nevertheless: never keys and logins of programs."""
    if not places.shows_secrets or within(Path.home(), [places.workspace]):
        return []
    names = set(tables()["private"]) - set(tables()["visible_agents"])
    below = tuple(f"/{entry}" for entry in tables()["private_below"])
    return [
        path
        for path in findings.hidden
        if os.path.basename(path).lower() not in names and not path.endswith(below)  # noqa: PTH119
    ]


def _inside(read_only: Iterable[str], roots: Sequence[Path]) -> tuple[str, ...]:
    """Return the read-only places in the writable folders ``roots``, and roots in such a place."""
    found = [
        place if within(place, [root]) else str(root)
        for place in read_only
        for root in roots
        if within(place, [root]) or within(root, [Path(place)])
    ]
    return tuple(dict.fromkeys(place for place in found if os.path.exists(place)))  # noqa: PTH110


def _targets(links: Sequence[str], workspace: Path) -> list[str]:
    """Return what links with the names of control files lead to in the workspace."""
    real = (os.path.realpath(link) for link in links)
    below = (path for path in real if path.startswith(f"{workspace}/") and "/.git" not in path)
    return [path for path in below if os.path.exists(path)]  # noqa: PTH110


class _RefusedOrHome:
    """Refuses what file tools refuse, and Hookline's home."""

    def __init__(self, refused: Callable[[str], str | None], home: Path) -> None:
        self._refused, self._home = refused, str(home)

    def __call__(self, path: str) -> str | None:
        return "it is Hookline's own" if path == self._home else self._refused(path)
