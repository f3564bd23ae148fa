"""Renders views and problems as HTML: the service ``Renderer`` of ``hookline_hookspecs.web``.

Jinja2 escapes every value, and filters build markup from escaped pieces only, so that a plugin's
text cannot become an element of the page.
"""

from __future__ import annotations

import gzip
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from hookline_hookspecs.web import (
    IDENTITY,
    N_,
    Identity,
    PageLink,
    Problem,
    RequestLike,
    View,
    language,
    translate,
)
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse, Response

from .page_language import jinja_functions, switch_language
from .render_filters import FILTERS
from .render_static import Assets

if TYPE_CHECKING:
    from .shared_page import SharedChat

FIRST = ("/", "/inbox")
"""The pages at the head of the navigation."""
ACTIVITY = N_("Activity")
THEME = "hookline-theme"
"""The cookie with the chosen theme, ``light`` or ``dark``, for pages before the login."""


class HtmlRenderer:
    """Shows views as pages with the navigation beside them, and serves the chat's shell.

    Args:
        pages: returns the pages that a person may open, in the order of the navigation.
        flash: returns the text and tone of a message to show once, or None.
        theme: returns a person's theme; without it the cookie decides.
        chosen_language: returns the language that a person has chosen, or an empty string.
    """

    def __init__(
        self,
        pages: Callable[[Identity], Sequence[PageLink]],
        flash: Callable[[RequestLike], tuple[str, str] | None] = lambda request: None,
        theme: Callable[[Identity], Awaitable[str]] | None = None,
        chosen_language: Callable[[Identity], Awaitable[str]] | None = None,
    ) -> None:
        self.assets = Assets()
        self._pages, self._flash, self._theme_of = pages, flash, theme
        self._language_of = chosen_language
        self._templates = Environment(
            loader=PackageLoader("hookline_web_ui"),
            autoescape=True,
            auto_reload=False,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters |= FILTERS
        self._templates.globals |= jinja_functions()

    async def page(self, request: RequestLike, view: View) -> Response:
        """Return the page that shows a view."""
        flash = self._shown_once(request)
        return await self._html(request, "page.html", view.status, view=view, flash=flash)

    async def problem(self, request: RequestLike, problem: Problem) -> Response:
        """Return the page of a problem and its fix."""
        retry = problem.status in (429, 502, 503, 504)
        made = await self._html(
            request, "problem.html", problem.status, problem=problem, retry=retry
        )
        made.headers.update(problem.headers)
        return made

    async def chat(self, request: RequestLike, session: str = "", title: str = "") -> Response:
        """Return the page of a chat; an empty ``session`` is a new one."""
        modules = self.assets.modules
        made = await self._html(
            request, "chat.html", 200, session=session, title=title, modules=modules
        )
        accepted = dict(request.scope.get("headers", ())).get(b"accept-encoding", b"")
        if b"gzip" in accepted:  # safe: the page has no secrets that its length could reveal
            made.body = gzip.compress(made.body, 6)
            made.headers["Content-Encoding"] = "gzip"
            made.headers["Content-Length"] = str(len(made.body))
        return made

    async def inbox(self, request: RequestLike, questions: Sequence[Mapping[str, Any]]) -> Response:
        """Return the page of open questions, each in the form of the page's API."""
        return await self._html(
            request, "inbox.html", 200, questions=questions, flash=self._shown_once(request)
        )

    async def settings(self, request: RequestLike, view: View) -> Response:
        """Return the page of a person's settings."""
        flash = self._shown_once(request)
        values = {"view": view, "flash": flash}
        return await self._html(request, "settings.html", view.status, **values)

    async def shared(
        self, request: RequestLike, chat: SharedChat | None, expired: float | None = None
    ) -> Response:
        """Return the page of a shared chat; None is one whose link does not work, or has
        ``expired`` at that time."""
        status = 200 if chat else 404 if expired is None else 410
        return await self._html(request, "shared.html", status, chat=chat, expired=expired)

    def _shown_once(self, request: RequestLike) -> dict[str, str] | None:
        found = self._flash(request)
        return {"text": translate(found[0]), "tone": found[1]} if found else None

    async def _html(self, request: RequestLike, name: str, status: int, **values: Any) -> Response:
        who = request.scope.get(IDENTITY)
        known = who if isinstance(who, Identity) else None
        if known and self._language_of is not None:
            again = switch_language(request, await self._language_of(known))
            if again is not None:
                return again
        links = self._pages(known) if known else ()
        text = self._templates.get_template(name).render(
            static=self.assets.base,
            language=language(),
            messages=self.assets.messages_url(language().code),
            theme=await self._theme(request, known),
            who=known,
            here=here(_path(request, values.get("view")), links),
            navigation=navigation(links),
            **values,
        )
        return HTMLResponse(text, status, {"Cache-Control": "no-store"})

    async def _theme(self, request: RequestLike, who: Identity | None) -> str:
        """``light`` or ``dark``; empty if the device decides."""
        stored = await self._theme_of(who) if who is not None and self._theme_of else ""
        chosen = stored or _theme_cookie(request)
        return chosen if chosen in ("light", "dark") else ""


def navigation(links: Sequence[PageLink]) -> list[tuple[str, list[PageLink]]]:
    """Return the links by section: first those of the chat, without a title.

    A plugin's page that names no section is among the activities.
    """

    def section(link: PageLink) -> str:
        return link.section or ("" if link.path in FIRST else ACTIVITY)

    ordered = sorted(links, key=section)
    return [(title, list(group)) for title, group in groupby(ordered, section)]


def here(path: str, links: Sequence[PageLink]) -> str:
    """Return the path of the navigation link for a page: the longest one that contains it."""
    if path == "/" or path.startswith("/chat/"):
        return "/"
    fits = (
        link.path.rstrip("/")
        for link in links
        if link.path != "/" and f"{path}/".startswith(f"{link.path.rstrip('/')}/")
    )
    found = max(fits, key=len, default=None)
    return next((link.path for link in links if link.path.rstrip("/") == found), "")


def _path(request: RequestLike, view: View | None) -> str:
    """Return the path of a page, or of the one that it is below."""
    if view is not None and view.crumbs:
        return urlsplit(view.crumbs[0].href).path
    return str(request.scope.get("path", "/"))


def _theme_cookie(request: RequestLike) -> str:
    headers: Sequence[tuple[bytes, bytes]] = request.scope.get("headers", ())
    for name, value in headers:
        if name == b"cookie":
            return _cookies(value.decode("latin-1")).get(THEME, "")
    return ""


def _cookies(header: str) -> Mapping[str, str]:
    pairs = (one.strip().partition("=") for one in header.split(";"))
    return {name: value for name, _, value in pairs}
