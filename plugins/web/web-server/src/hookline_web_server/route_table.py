"""The routes of all plugins, by method and path.

Paths are matched as they were sent, and parameters decoded afterwards, so that a ``%2F`` in an id
is part of the id, and no other spelling of a path reaches a route.
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
class RouteEntry:
    """A route with its full path and its plugin."""

    plugin: str
    path: str
    route: Route

    @property
    def auth(self) -> str:
        """Who may call it."""
        return self.route.auth

    @property
    def name(self) -> str:
        """The route in logs and metrics: ``GET /sessions/{id}``."""
        return f"{self.route.method} {self.path}"


@dataclass(frozen=True, slots=True)
class RouteMatch:
    """The route of a request, its path parameters, and the root path of a mounted application."""

    entry: RouteEntry
    params: Mapping[str, str]
    root: str = ""


@dataclass
class RouteTable:
    """All routes. ``errors`` are about those that were refused."""

    entries: list[RouteEntry] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    _exact: dict[tuple[str, str], RouteEntry] = field(default_factory=dict)
    _patterns: list[tuple[re.Pattern[str], RouteEntry]] = field(default_factory=list)
    _mounts: list[RouteEntry] = field(default_factory=list)

    @classmethod
    def from_routes(cls, routes: Iterable[tuple[str, Route]]) -> RouteTable:
        """Build the table from ``(plugin, route)``. Of two that collide, the second is refused."""
        table = cls()
        taken: dict[tuple[str, str], str] = {}
        for plugin, route in routes:
            entry = RouteEntry(plugin, full_path(plugin, route), route)
            key = (route.method, re.sub(r"\{\w+", "{", entry.path))
            if fault := _route_error(entry):
                table.errors.append(f"plugin {plugin}: route {entry.name} was refused: {fault}")
            elif key in taken:
                table.errors.append(
                    f"route {entry.name} of plugin {plugin} was refused: plugin "
                    f"{taken[key]} already has it; rename one of them"
                )
            else:
                taken[key] = plugin
                table._add(entry)
        table._mounts.sort(key=lambda one: -len(one.path))
        return table

    def _add(self, entry: RouteEntry) -> None:
        self.entries.append(entry)
        if entry.route.method == MOUNT:
            self._mounts.append(entry)
        elif "{" in entry.path:
            self._patterns.append((_compile(entry.path), entry))
        else:
            self._exact[entry.route.method, entry.path] = entry

    def add_missing(self, plugin: str, routes: Iterable[Route]) -> None:
        """Add those routes of a plugin that no other plugin has."""
        for route in routes:
            path = full_path(plugin, route)
            if (route.method, path) not in self._exact:
                self._add(RouteEntry(plugin, path, route))

    def find(self, method: str, path: str) -> RouteMatch | None:
        """Return the route of a request. ``path`` is percent-encoded, as it was sent."""
        method = "GET" if method == "HEAD" else method
        trimmed = path.rstrip("/") or "/" if not path.endswith("//") else path
        if (entry := self._exact.get((method, trimmed))) is not None:
            return RouteMatch(entry, {})
        for pattern, entry in self._patterns:
            if entry.route.method == method and (match := pattern.fullmatch(path)) is not None:
                params = {name: unquote(text) for name, text in match.groupdict().items()}
                return RouteMatch(entry, params)
        for entry in self._mounts:
            root = entry.path.rstrip("/")
            if path == root or path.startswith(f"{root}/"):
                return RouteMatch(entry, {}, root)
        return None

    def methods(self, path: str) -> Sequence[str]:
        """Return the methods of a path, for ``Allow``."""
        return [method for method in METHODS if self.find(method, path) is not None]


def full_path(plugin: str, route: Route) -> str:
    """Return the path of a route from the root of the server, without a trailing slash."""
    path = route.path if isinstance(route, SiteRoute) else f"/{plugin}{route.path}"
    return path.rstrip("/") or "/"


def _route_error(entry: RouteEntry) -> str | None:
    route = entry.route
    if route.method != MOUNT and route.method not in METHODS:
        return f"its method must be one of {', '.join(METHODS)} or {MOUNT}"
    if not entry.path.startswith("/") or "//" in entry.path or "?" in entry.path:
        return "its path must start with a slash and contain no // or ?"
    if route.method == MOUNT and "{" in entry.path:
        return "an application cannot be mounted at a path with parameters"
    try:
        route.log.format_map({name: "" for name, *_ in _PIECE.findall(entry.path)})
    except (LookupError, ValueError, AttributeError):
        return f"its log {route.log!r} may only name parameters of its path, such as {{id}}"
    return None


def _compile(path: str) -> re.Pattern[str]:
    return re.compile("".join(_pieces(path)))


def _pieces(path: str) -> Iterable[str]:
    for match in _PIECE.finditer(path):
        name, kind, odd = match.groups()
        if name is None:
            yield re.escape(odd or match[0])
        else:
            yield f"(?P<{name}>{'.+' if kind == 'path' else '[^/]+'})"
