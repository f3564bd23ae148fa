"""Renders views and problems as HTML: the service ``Renderer`` of ``hookline_hookspecs.web``.

Jinja2 escapes every value, and filters build markup from escaped pieces only, so that a plugin's
text cannot become an element of the page.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any

from hookline_hookspecs.web import IDENTITY, Identity, PageLink, Problem, RequestLike, View
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse, Response

from .render_filters import FILTERS
from .render_static import Assets

THEME = "hookline-theme"
"""The cookie with the chosen theme, ``light`` or ``dark``; without it the system decides."""


class HtmlRenderer:
    """Shows views as pages with the navigation beside them, and serves the chat's shell.

    Args:
        pages: returns the pages that a person may open, in the order of the navigation.
        flash: returns the text and tone of a message to show once, or None.
    """

    def __init__(
        self,
        pages: Callable[[Identity], Sequence[PageLink]],
        flash: Callable[[RequestLike], tuple[str, str] | None] = lambda request: None,
    ) -> None:
        self.assets = Assets()
        self._pages, self._flash = pages, flash
        self._templates = Environment(
            loader=PackageLoader("hookline_web_ui"),
            autoescape=True,
            auto_reload=False,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters |= FILTERS

    async def page(self, request: RequestLike, view: View) -> Response:
        """Return the page that shows a view."""
        flash = self._shown_once(request)
        return self._html(request, "page.html", view.status, view=view, flash=flash)

    async def problem(self, request: RequestLike, problem: Problem) -> Response:
        """Return the page of a problem and its fix."""
        retry = problem.status in (429, 502, 503, 504)
        made = self._html(request, "problem.html", problem.status, problem=problem, retry=retry)
        made.headers.update(problem.headers)
        return made

    def chat(self, request: RequestLike, session: str = "", title: str = "") -> Response:
        """Return the page of a chat; an empty ``session`` is a new one."""
        modules = self.assets.modules
        made = self._html(request, "chat.html", 200, session=session, title=title, modules=modules)
        accepted = dict(request.scope.get("headers", ())).get(b"accept-encoding", b"")
        if b"gzip" in accepted:  # safe: the page has no secrets that its length could reveal
            made.body = gzip.compress(made.body, 6)
            made.headers["Content-Encoding"] = "gzip"
            made.headers["Content-Length"] = str(len(made.body))
        return made

    def inbox(self, request: RequestLike, questions: Sequence[Mapping[str, Any]]) -> Response:
        """Return the page of open questions, each in the form of the page's API."""
        return self._html(
            request, "inbox.html", 200, questions=questions, flash=self._shown_once(request)
        )

    def _shown_once(self, request: RequestLike) -> dict[str, str] | None:
        found = self._flash(request)
        return {"text": found[0], "tone": found[1]} if found else None

    def _html(self, request: RequestLike, name: str, status: int, **values: Any) -> Response:
        who = request.scope.get(IDENTITY)
        known = who if isinstance(who, Identity) else None
        links = self._pages(known) if known else ()
        text = self._templates.get_template(name).render(
            static=self.assets.base,
            theme=_theme(request),
            who=known,
            here=here(str(request.scope.get("path", "/")), links),
            navigation=[
                (section, list(group)) for section, group in groupby(links, lambda o: o.section)
            ],
            **values,
        )
        return HTMLResponse(text, status, {"Cache-Control": "no-store"})


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


def _theme(request: RequestLike) -> str:
    headers: Sequence[tuple[bytes, bytes]] = request.scope.get("headers", ())
    for name, value in headers:
        if name == b"cookie":
            chosen = _cookies(value.decode("latin-1")).get(THEME, "")
            return chosen if chosen in ("light", "dark") else ""
    return ""


def _cookies(header: str) -> Mapping[str, str]:
    pairs = (one.strip().partition("=") for one in header.split(";"))
    return {name: value for name, _, value in pairs}
