"""The services by which the web plugins find each other and the plugins they show.

Each is found with ``host.services.get(PROTOCOL)``, and is absent where its plugin is off.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol
from weakref import WeakSet

from hookline_hookspecs import HooklineError, Host, Inbound

if TYPE_CHECKING:
    from .requests import Identity, Problem, RequestLike
    from .views import View

TABLES = "tables of the pages"
"""The name of the work of :func:`prepare`."""
_prepared: WeakSet[Host] = WeakSet()
SiteRole = Literal["operator", "person", "auditor"]


@dataclass(frozen=True, slots=True)
class LoginLink:
    """A link that logs a browser in once; ``expires`` is Unix time in seconds."""

    url: str
    code: str
    expires: float


@dataclass(frozen=True, slots=True)
class Device:
    """A browser that is logged in. Times are Unix times in seconds."""

    id: str
    person: str
    role: SiteRole
    agent: str
    created: float
    seen: float


@dataclass(frozen=True, slots=True)
class Change:
    """What somebody did, as it was noted: the request, such as ``POST /skills/x/archive``, or
    ``logged in``, and the status it was answered with. ``at`` is Unix time in seconds."""

    at: float
    person: str
    device: str
    what: str
    status: int


@dataclass(frozen=True, slots=True)
class PageLink:
    """A page in the navigation, in the order in which they are shown."""

    title: str
    path: str
    section: str
    order: int
    plugin: str


class WebServer(Protocol):
    """The listener that the web plugins share; offered by ``web-server``."""

    async def acquire(self) -> str:
        """Start listening, unless it does, and return the base URL; each call needs its
        :meth:`release`. Raises ``HooklineError`` with a sentence, or ``OSError``."""

    async def release(self) -> None:
        """Stop listening once nobody needs it any more."""

    async def wait(self) -> None:
        """Return when the listener has stopped. Raises the error if it failed."""

    def url(self) -> str:
        """Return ``public_url``, else ``http://<listen>``, without a slash at the end."""

    def pages(self, who: Identity) -> Sequence[PageLink]:
        """Return the pages that this person may open."""

    async def link(
        self, person: str, role: SiteRole, by: str = "terminal", *, url: str | None = None
    ) -> LoginLink:
        """Let ``web:NAME`` in and make a link that logs a browser in as them, once and within 10
        minutes. ``person`` is the NAME alone, ``by`` who invites them, and ``url`` the server's if
        it is another process's. Raises ``HooklineError`` if the name is no person's, or they are
        blocked."""

    async def devices(self, person: str | None = None) -> Sequence[Device]:
        """Return the browsers that are logged in, of everybody or of one person."""

    async def revoke(self, *, device: str | None = None, person: str | None = None) -> int:
        """Log out a device, or all of a person's, at once; return how many there were."""

    def on_revoked(self, callback: Callable[[str], None]) -> None:
        """Call ``callback(device)`` when a device is logged out; its requests end, too."""

    async def changes(self, limit: int = 100) -> Sequence[Change]:
        """Return what operators changed and who came in, the newest first; kept for 90 days."""


class GatewayCommand(Protocol):
    """``hookline gateway``; offered by the plugin ``gateway``."""

    async def gateway(self) -> None:
        """Run every channel that is on until SIGTERM or SIGINT; ends with ``SystemExit``."""


class Renderer(Protocol):
    """Makes HTML of views; offered by ``web-ui``. Without one, pages are sent as JSON."""

    async def page(self, request: RequestLike, view: View) -> Any:
        """Return the Starlette response that shows a view."""

    async def problem(self, request: RequestLike, problem: Problem) -> Any:
        """Return the Starlette response that shows a problem to a person."""


class Keys(Protocol):
    """Knows the clients with API keys; added by ``openai-api`` with ``host.services.add``."""

    async def identify(self, token: str) -> Identity | None:
        """Return whose Bearer token it is, or None."""


class People(Protocol):
    """Who may write, by name; offered by ``access``. A person is written ``CHANNEL:USER``."""

    async def role(
        self, person: str
    ) -> Literal["admin", "person", "auditor", "blocked", "unknown"]:
        """Return what a person may do."""

    async def let_in(self, person: str, *, admin: bool, by: str, auditor: bool = False) -> None:
        """Let a person in, as an admin if ``admin`` and as an auditor if ``auditor``. Raises
        ``HooklineError`` if they are blocked or the name is no person's."""

    async def remove(self, person: str, by: str) -> bool:
        """Take a person off the list; return False if they were not on it."""


class Permissions(Protocol):
    """What each role may do; offered by ``access``, whose ``roles.yaml`` is the table."""

    def may_call(self, role: SiteRole, method: str, path: str, auth: str) -> bool:
        """Return whether a role may call a route; ``path`` is the route's whole path with its
        ``{parameters}``, and ``auth`` whom it is for."""

    async def may_read(self, inbound: Inbound, action: str) -> bool:
        """Return whether whoever wrote a message may do ``action`` of the table, and have it
        answered in that chat: what is not of this chat alone, in private only."""


class Branches(Protocol):
    """Copies sessions, so that a conversation goes on from an earlier point; offered by
    ``web-server``."""

    async def copy(
        self, session_id: str, new: str, chat: tuple[str, str], before: int | None = None
    ) -> bool:
        """Store a copy of a session as ``new``, in the chat ``(channel, chat id)``: what was said
        before the message of the sequence ``before``, or all but a turn under way. Return False if
        the session is not stored yet. Raises ``StoreError``."""


class TurnViews(Protocol):
    """Makes a turn visible; added with ``host.services.add`` by every plugin that has something
    to show of it."""

    async def turn_view(self, session_id: str, turn_id: str) -> View | None:
        """Return the hooks, prompt, tools, memory and cost of a stored turn as a view, or None."""


def prepare(host: Host, query: str, **params: Any) -> None:
    """Have the plugin's tables made in the background, so that a page that only looks never makes
    them. Call it in ``register_routes``; it does nothing where no event loop runs.

    Args:
        query: the name of any query of the plugin, with its ``params``.
    """

    async def read() -> None:
        with suppress(HooklineError):  # whoever opens the page is told
            await host.storage.fetch(query, **params)

    if host in _prepared:  # the server asks for routes again and again
        return
    with suppress(RuntimeError):
        asyncio.get_running_loop()
        host.spawn(read(), TABLES)
        _prepared.add(host)
