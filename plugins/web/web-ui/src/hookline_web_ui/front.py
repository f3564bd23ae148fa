"""HTML pages: the chat's page, static files, and the renderer of all other pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from hookline_hookspecs import Host, Page, Route
from hookline_hookspecs.web import (
    FLASH,
    Identity,
    PageLink,
    Problem,
    Redirect,
    RequestLike,
    SiteRoute,
    WebServer,
    identity,
    path_param,
)

if TYPE_CHECKING:
    from hookline_hookspecs.web import View
    from starlette.responses import Response

    from .render import HtmlRenderer


class Front:
    """Serves pages (protocol ``Renderer``). Templates are loaded at the first request.

    Args:
        host: the plugin's host.
        sees: returns whether a person may see a session.
    """

    def __init__(self, host: Host, sees: Callable[[Identity, str], Awaitable[bool]]) -> None:
        self._host, self._sees = host, sees
        self._made: HtmlRenderer | None = None

    @property
    def html(self) -> HtmlRenderer:
        """The renderer, created at first use."""
        if self._made is None:
            from .render import HtmlRenderer

            self._made = HtmlRenderer(self._pages, _flash)
        return self._made

    def register(self, register: Callable[[Route], None]) -> None:
        """Register the chat and the files of all pages."""
        register(SiteRoute("GET", "/", self.chat, auth="person", page=Page("Chat", order=-1)))
        register(SiteRoute("GET", "/chat/{id}", self.chat, auth="person"))
        register(SiteRoute("GET", "/static/{version}/{name:path}", self.static, auth="none"))
        register(SiteRoute("GET", "/push-worker.js", self.worker, auth="none"))

    async def chat(self, request: RequestLike) -> Response:
        """``GET /`` and ``GET /chat/{id}``: the same page, which loads its content from ``/api``.

        If the chat does not exist or belongs to another person, the status is 404.
        """
        session = path_param(request, "id")
        made = self.html.chat(request, session)
        if session and not await self._sees(identity(request), session):
            made.status_code = 404
        return made

    async def static(self, request: RequestLike) -> Response:
        """``GET /static/{version}/{name}``."""
        return await self.html.assets.serve(request)

    async def worker(self, request: RequestLike) -> Response:
        """``GET /push-worker.js``: a service worker controls only what is below its own path."""
        return await self.html.assets.serve_worker(request)

    async def page(self, request: RequestLike, view: View) -> Response:
        """Return the page that shows a view."""
        return await self.html.page(request, view)

    async def problem(self, request: RequestLike, problem: Problem) -> Response:
        """Return the page that shows a problem."""
        return await self.html.problem(request, problem)

    def _pages(self, who: Identity) -> Sequence[PageLink]:
        server = self._host.services.get(WebServer)
        return server.pages(who) if server is not None else ()


def _flash(request: RequestLike) -> tuple[str, str] | None:
    flash = request.scope.get(FLASH)
    return (flash.message, flash.tone) if isinstance(flash, Redirect) and flash.message else None
