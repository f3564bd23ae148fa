"""The services of the web server and its plugins.

Get one with ``host.services.get(PROTOCOL)``; it is None if the plugin that offers it is off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..people import WebRole
from .requests import Identity, Problem, RequestLike
from .views import View


@dataclass(frozen=True, slots=True)
class LoginLink:
    """A link that signs a browser in, once. ``expires`` is Unix time in seconds."""

    url: str
    code: str
    expires: float


@dataclass(frozen=True, slots=True)
class Device:
    """A browser that is signed in. Times are Unix time in seconds."""

    id: str
    person: str
    role: WebRole
    agent: str
    created: float
    seen: float


@dataclass(frozen=True, slots=True)
class WebChange:
    """Something a person changed through the web server.

    Attributes:
        at: Unix time in seconds.
        person: who, such as ``web:owner``.
        device: the id of their login.
        what: the request, such as ``POST /skills/x/archive``, or ``signed in``.
        status: the HTTP status of the response.
        words: what they did, in the language of the page; empty if its route does not say.
    """

    at: float
    person: str
    device: str
    what: str
    status: int
    words: str = ""


@dataclass(frozen=True, slots=True)
class PageLink:
    """A page in the navigation."""

    title: str
    path: str
    section: str
    order: int
    plugin: str


class WebServer(Protocol):
    """The HTTP server that the web plugins share; offered by ``web-server``."""

    async def acquire(self) -> str:
        """Start listening unless already started, and return the base URL.

        Call :meth:`release` once for each call. Raises ``HooklineError`` or ``OSError``.
        """

    async def release(self) -> None:
        """Stop listening if this was the last user."""

    async def wait(self) -> None:
        """Return when the server has stopped. Raises its error if it failed."""

    def url(self) -> str:
        """Return ``public_url``, else ``http://<listen>``, without a trailing slash."""

    def pages(self, who: Identity) -> Sequence[PageLink]:
        """Return the pages that a person may open, in the order of the navigation."""

    async def link(
        self, person: str, role: WebRole, by: str = "terminal", *, url: str | None = None
    ) -> LoginLink:
        """Allow ``web:NAME`` in and return a link that signs a browser in as them.

        The link works once, for 10 minutes.

        Args:
            person: the NAME.
            by: who invites them.
            url: the base URL, if the server runs in another process.

        Raises:
            HooklineError: the name is invalid, or the person is blocked.
        """

    async def devices(self, person: str | None = None) -> Sequence[Device]:
        """Return the signed-in browsers of one person or of everyone."""

    async def revoke(self, *, device: str | None = None, person: str | None = None) -> int:
        """Sign out a device, or all devices of a person, at once. Return their number."""

    def on_revoked(self, callback: Callable[[str], None]) -> None:
        """Call ``callback(device)`` when a device is signed out. Its open requests are ended."""

    async def changes(self, limit: int = 100) -> Sequence[WebChange]:
        """Return the changes by operators and the logins of the last 90 days, newest first."""


class Renderer(Protocol):
    """Renders views as HTML; offered by ``web-ui``. Without it, pages are sent as JSON."""

    async def page(self, request: RequestLike, view: View) -> Any:
        """Return the Starlette response for a view."""

    async def problem(self, request: RequestLike, problem: Problem) -> Any:
        """Return the Starlette response for a problem."""


class Keys(Protocol):
    """API keys; added by ``openai-api`` with ``host.services.add``."""

    async def identify(self, token: str) -> Identity | None:
        """Return the owner of a Bearer token, or None."""


class TurnViews(Protocol):
    """Shows details of a turn; plugins that have some add it with ``host.services.add``."""

    async def turn_view(self, session_id: str, turn_id: str) -> View | None:
        """Return a view of what this plugin knows about a stored turn, or None."""
