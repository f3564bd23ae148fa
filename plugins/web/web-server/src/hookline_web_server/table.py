"""Which handler a request reaches: the routes of all plugins, by method and path.

A path is matched piece by piece as it was sent, and a parameter is decoded afterwards: so a ``%2F``
in an id is part of the id, and no other spelling of a path reaches a route.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

from hookline_hookspecs import Route
from hookline_hookspecs.web import SiteRoute

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
MOUNT = "*"
_PIECE = re.compile(r"[^{}]+|\{(\w+)(?::(\w+))?\}|(.)")


@dataclass(frozen=True, slots=True)
class Entry:
    """A route with its whole path and its plugin."""

    plugin: str
    path: str
    route: Route

    @property
    def auth(self) -> str:
        """Who may call it."""
        return self.route.auth

    @property
    def name(self) -> str:
        """The route as it is told of: ``GET /sessions/{id}``."""
        return f"{self.route.method} {self.path}"


@dataclass(frozen=True, slots=True)
class Found:
    """The route that a request reaches, with its parameters and, of a mounted application, the
    path that it is mounted at."""

    entry: Entry
    params: Mapping[str, str]
    root: str = ""


@dataclass
class Table:
    """All routes. ``faults`` are sentences about those that were refused."""

    entries: list[Entry] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    _exact: dict[tuple[str, str], Entry] = field(default_factory=dict)
    _patterns: list[tuple[re.Pattern[str], Entry]] = field(default_factory=list)
    _mounts: list[Entry] = field(default_factory=list)

    @classmethod
    def of(cls, routes: Iterable[tuple[str, Route]]) -> Table:
        """Make a table of what plugins registered. Of two that collide, the second is refused."""
        table = cls()
        taken: dict[tuple[str, str], str] = {}
        for plugin, route in routes:
            entry = Entry(plugin, whole_path(plugin, route), route)
            key = (route.method, re.sub(r"\{\w+", "{", entry.path))
            if fault := _fault(entry):
                table.faults.append(f"plugin {plugin}: route {entry.name} is left out: {fault}")
            elif key in taken:
                table.faults.append(
                    f"route {entry.name} of plugin {plugin} is left out, because plugin "
                    f"{taken[key]} has it already; rename one of them"
                )
            else:
                taken[key] = plugin
                table._add(entry)
        table._mounts.sort(key=lambda one: -len(one.path))
        return table

    def _add(self, entry: Entry) -> None:
        self.entries.append(entry)
        if entry.route.method == MOUNT:
            self._mounts.append(entry)
        elif "{" in entry.path:
            self._patterns.append((_compiled(entry.path), entry))
        else:
            self._exact[entry.route.method, entry.path] = entry

    def complete(self, plugin: str, routes: Iterable[Route]) -> None:
        """Add those of a plugin's routes whose place nobody has taken."""
        for route in routes:
            path = whole_path(plugin, route)
            if (route.method, path) not in self._exact:
                self._add(Entry(plugin, path, route))

    def find(self, method: str, path: str) -> Found | None:
        """Return where a request goes. ``path`` is as it was sent, percent-encoded."""
        method = "GET" if method == "HEAD" else method
        trimmed = path.rstrip("/") or "/" if not path.endswith("//") else path
        if (entry := self._exact.get((method, trimmed))) is not None:
            return Found(entry, {})
        for pattern, entry in self._patterns:
            if entry.route.method == method and (match := pattern.fullmatch(path)) is not None:
                params = {name: unquote(text) for name, text in match.groupdict().items()}
                return Found(entry, params)
        for entry in self._mounts:
            root = entry.path.rstrip("/")
            if path == root or path.startswith(f"{root}/"):
                return Found(entry, {}, root)
        return None

    def methods(self, path: str) -> Sequence[str]:
        """Return the methods that a path has, for ``Allow``."""
        return [method for method in METHODS if self.find(method, path) is not None]


def whole_path(plugin: str, route: Route) -> str:
    """Return a route's path from the root of the server; only ``/`` itself ends with a slash."""
    path = route.path if isinstance(route, SiteRoute) else f"/{plugin}{route.path}"
    return path.rstrip("/") or "/"


def _fault(entry: Entry) -> str | None:
    route = entry.route
    if route.method != MOUNT and route.method not in METHODS:
        return f"its method is none of {', '.join(METHODS)} and {MOUNT}"
    if not entry.path.startswith("/") or "//" in entry.path or "?" in entry.path:
        return "its path must begin with a slash and hold no // and no ?"
    if route.method == MOUNT and "{" in entry.path:
        return "an application is mounted at a path without parameters"
    return None


def _compiled(path: str) -> re.Pattern[str]:
    return re.compile("".join(_pieces(path)))


def _pieces(path: str) -> Iterable[str]:
    for match in _PIECE.finditer(path):
        name, kind, odd = match.groups()
        if name is None:
            yield re.escape(odd or match[0])
        else:
            yield f"(?P<{name}>{'.+' if kind == 'path' else '[^/]+'})"
