"""What the handler of a route uses: who sent the request, its parameters and form, and errors."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar
from urllib.parse import parse_qsl, quote, urlencode

from ..errors import HooklineError
from ..parts import Route
from ..people import WebRole
from .language import t
from .views import Link

T = TypeVar("T")
IDENTITY = "hookline.identity"
"""Key of the :class:`Identity` in the ASGI scope of a request."""
FLASH = "hookline.flash"
"""Key in the ASGI scope of a page of the :class:`~.views.Redirect` that led to it, or None."""


@dataclass(frozen=True, slots=True)
class SiteRoute(Route):
    """A route whose ``path`` starts at the root of the server instead of below ``/PLUGIN``.

    If two routes have the same method and path, the second is refused with an error that names both
    plugins. ``rate`` limits the requests per minute of one person or, if ``auth`` is ``none``, of
    one address; 0 means 120 for API keys and no limit for others.
    """

    rate: int = 0


@dataclass(frozen=True, slots=True)
class Identity:
    """Who sent a request.

    Attributes:
        channel: ``web`` for a browser, ``api`` for a client with an API key.
        name: the person's name on that channel, such as ``owner`` for ``web:owner``.
        role: ``operator`` is an admin; an ``auditor`` may only read the audit log and the insights;
            a ``person`` has only their own chats.
        device: the id by which the login or the key is revoked.
    """

    channel: str
    name: str
    role: WebRole
    device: str

    @property
    def person(self) -> str:
        """The person as ``access`` knows them, such as ``web:owner``."""
        return f"{self.channel}:{self.name}"

    def owns(self, channel: str, chat_id: str) -> bool:
        """Return whether this is the person's own chat. The chat's id is their name, and their
        conversations are its sessions."""
        return channel == self.channel and chat_id == self.name

    def may_see(self, channel: str, chat_id: str) -> bool:
        """Return whether this person may see a chat: their own, or every chat for the operator."""
        return self.is_operator or self.owns(channel, chat_id)

    @property
    def is_operator(self) -> bool:
        """True if this is the operator."""
        return self.role == "operator"


class RequestLike(Protocol):
    """The part of Starlette's ``Request`` that pages use."""

    @property
    def scope(self) -> Any:
        """The ASGI scope."""

    def body(self) -> Awaitable[bytes]:
        """Return the body."""


class Problem(HooklineError):
    """Raised by a handler to refuse a request. Shown to its sender.

    Args:
        status: the HTTP status, such as 404.
        code: an error code for programs, such as ``not_found``.
        message: what is wrong, as a sentence.
        fix: what the sender can do about it, as a sentence.
        headers: additional response headers, such as ``Retry-After``.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        fix: str = "",
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.fix = status, code, message, fix
        self.headers = headers or {}

    def as_json(self) -> dict[str, Any]:
        """Return the body of the response: ``{"error": {"code", "message", "fix"}}``."""
        return {"error": {"code": self.code, "message": self.message, "fix": self.fix}}


def identity(request: RequestLike) -> Identity:
    """Return who sent the request. Raises :class:`Problem` (401) without a login."""
    found = request.scope.get(IDENTITY)
    if not isinstance(found, Identity):
        raise Problem(401, "unauthorized", t("You are not signed in."), t("Run `hookline web`."))
    return found


def query_params(request: RequestLike) -> dict[str, str]:
    """Return the query parameters; of several with the same name, the last.

    Raises :class:`Problem` (400) if there are more than 100.
    """
    text = bytes(request.scope.get("query_string", b"")).decode("ascii", "replace")
    try:
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=100))
    except ValueError:
        raise Problem(400, "bad_query", t("The query string is invalid.")) from None


def path_param(request: RequestLike, name: str) -> str:
    """Return the value of ``{name}`` in the route's path."""
    return str(request.scope.get("path_params", {}).get(name, ""))


def build_path(*segments: str, **params: str) -> str:
    """Return ``/SEGMENT/SEGMENT?NAME=VALUE`` with all segments and values quoted, for links."""
    path = "/" + "/".join(quote(segment, safe=":@") for segment in segments)
    return f"{path}?{urlencode(params)}" if params else path


@dataclass(frozen=True, slots=True)
class Paging:
    """Which rows of a long list a page shows: ``size`` rows after ``offset``.

    Fetch ``size + 1`` rows, so that :meth:`link` knows whether there are more.
    """

    offset: int
    size: int
    path: str
    params: tuple[tuple[str, str], ...] = ()

    @classmethod
    def from_request(cls, request: RequestLike, path: str, size: int = 50) -> Paging:
        """Read ``?from=N``. Anything but a whole number is 0."""
        params = query_params(request)
        start = params.pop("from", "0")
        offset = int(start) if start.isascii() and start.isdecimal() and len(start) < 10 else 0
        return cls(offset, size, path, tuple(params.items()))

    def slice(self, rows: Sequence[T]) -> Sequence[T]:
        """Return the rows of this page from the list of all rows."""
        return rows[self.offset : self.offset + self.size]

    def link(self, found: int, text: str = "") -> Link | None:
        """Return the link to the next page, or None if this is the last.

        Args:
            found: the number of rows that were fetched from ``offset`` on.
            text: the text of the link, ``Older`` if empty.
        """
        if found <= self.size:
            return None
        more = urlencode([*self.params, ("from", str(self.offset + self.size))])
        return Link(text or t("Older"), f"{self.path}?{more}")


async def read_form(request: RequestLike) -> dict[str, str]:
    """Return the fields of a submitted form; of several with the same name, the last.

    Raises :class:`Problem` (400) if the body is not a form.
    """
    try:
        text = (await request.body()).decode("utf-8")
        return dict(parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=1000))
    except ValueError:
        raise Problem(
            400, "bad_form", t("The form could not be read."), t("Submit it again.")
        ) from None
