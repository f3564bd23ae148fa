"""What a handler needs of its request, and what it raises to refuse it."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar
from urllib.parse import parse_qsl, quote, urlencode

from hookline_hookspecs import HooklineError, Route

from .views import Link

T = TypeVar("T")
IDENTITY = "hookline.identity"
"""The key of the :class:`Identity` in a request's ASGI scope."""
FLASH = "hookline.flash"
"""The key of what is to be shown once, in a page's ASGI scope: the :class:`~.views.Redirect` that
led here, or None."""


@dataclass(frozen=True, slots=True)
class SiteRoute(Route):
    """A route whose ``path`` is counted from the root of the server, not below ``/NAME``.

    Of two routes with the same method and path the second is refused, and both are named. ``rate``
    is how many requests of one person it takes in a minute; 0 is 120 with an API key, else no
    limit.
    """

    rate: int = 0


@dataclass(frozen=True, slots=True)
class Identity:
    """Who sent a request.

    Attributes:
        channel: ``web``, or ``api`` for a client with a key.
        name: the person's name on this channel: ``owner`` for ``web:owner``.
        role: ``operator`` for an admin, ``auditor`` for whoever reads the audit and the insights
            and nothing else, otherwise ``person``, who has their own chats only.
        device: the id of the login or of the key, by which it is revoked.
    """

    channel: str
    name: str
    role: Literal["operator", "person", "auditor"]
    device: str

    @property
    def person(self) -> str:
        """The person as ``access`` knows them, such as ``web:owner``."""
        return f"{self.channel}:{self.name}"

    def owns(self, channel: str, chat_id: str) -> bool:
        """Return whether this is the chat of this person: its id is their name, and each of their
        conversations is a session of it."""
        return channel == self.channel and chat_id == self.name

    def may_see(self, channel: str, chat_id: str) -> bool:
        """Return whether this person may see a chat: their own, and the operator every one."""
        return self.is_operator or self.owns(channel, chat_id)

    @property
    def is_operator(self) -> bool:
        """Whether this is the operator."""
        return self.role == "operator"


class RequestLike(Protocol):
    """The part of Starlette's ``Request`` that is used here."""

    @property
    def scope(self) -> Any:
        """The ASGI scope."""

    def body(self) -> Awaitable[bytes]:
        """Return the body."""


class Problem(HooklineError):
    """Raised by a handler to refuse a request; shown to who sent it.

    Args:
        status: the HTTP status, such as 404.
        code: a short name for programs, such as ``not_found``.
        message: what is wrong, as a sentence.
        fix: what to do about it, as a sentence, if there is something.
        headers: more response headers, such as ``Retry-After``.
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
    """Return who sent the request. Raises :class:`Problem` (401) if that is nobody known."""
    found = request.scope.get(IDENTITY)
    if not isinstance(found, Identity):
        raise Problem(401, "unauthorized", "You are not logged in.", "Run `hookline web`.")
    return found


def query(request: RequestLike) -> dict[str, str]:
    """Return the parameters behind the ``?`` of the address, the last of each name."""
    text = bytes(request.scope.get("query_string", b"")).decode("ascii", "replace")
    try:
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=100))
    except ValueError:
        raise Problem(400, "bad_query", "The address could not be read.") from None


def part(request: RequestLike, name: str) -> str:
    """Return the part of the path that the route calls ``{name}``."""
    return str(request.scope.get("path_params", {}).get(name, ""))


def address(*parts: str, **given: str) -> str:
    """Return ``/PART/PART?NAME=VALUE`` with every part and value quoted, for links and forms."""
    path = "/" + "/".join(quote(one, safe=":@") for one in parts)
    return f"{path}?{urlencode(given)}" if given else path


@dataclass(frozen=True, slots=True)
class Paging:
    """Which rows of a long list a page shows: ``size`` of them, after ``offset``.

    Fetch ``size + 1``, so that :meth:`link` knows whether there are more.
    """

    offset: int
    size: int
    path: str
    given: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, request: RequestLike, path: str, size: int = 50) -> Paging:
        """Read ``?from=N``; anything but a whole number is the beginning."""
        given = query(request)
        start = given.pop("from", "0")
        offset = int(start) if start.isascii() and start.isdecimal() and len(start) < 10 else 0
        return cls(offset, size, path, tuple(given.items()))

    def cut(self, rows: Sequence[T]) -> Sequence[T]:
        """Return the rows of this page, of a list that holds them all."""
        return rows[self.offset : self.offset + self.size]

    def link(self, found: int, text: str = "Older") -> Link | None:
        """Return the link to the next page, or None.

        Args:
            found: how many rows there are from ``offset`` on, as far as they were looked for.
        """
        if found <= self.size:
            return None
        more = urlencode([*self.given, ("from", str(self.offset + self.size))])
        return Link(text, f"{self.path}?{more}")


async def form(request: RequestLike) -> dict[str, str]:
    """Return the fields of a form that a browser sent, the last of each name.

    Raises :class:`Problem` (400) if the body is not one.
    """
    try:
        text = (await request.body()).decode("utf-8")
        return dict(parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=1000))
    except ValueError:
        raise Problem(400, "bad_form", "The form could not be read.", "Send it again.") from None
