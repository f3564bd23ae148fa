"""HTML pages: the chat's page, static files, and the renderer of all other pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

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
    t,
)

from .setup_page import PATH as SETUP_PATH
from .setup_page import needs_setup

if TYPE_CHECKING:
    from hookline_hookspecs.web import View
    from starlette.responses import Response

    from .person_settings import PeopleSettings
    from .render import HtmlRenderer

SHARE_PATH = "/share"
SHARED_TYPES = ["image/*", "audio/*", "video/*", "text/*", "application/*"]
"""Browsers know no type for any file."""


class Front:
    """Serves pages (protocol ``Renderer``). Templates are loaded at the first request.

    Args:
        host: the plugin's host.
        name_of: returns the name of a session, None if the person may not see it.
        settings: reads the settings of people.
    """

    def __init__(
        self,
        host: Host,
        name_of: Callable[[Identity, str], Awaitable[str | None]],
        settings: PeopleSettings,
    ) -> None:
        self._host, self._name_of, self._settings = host, name_of, settings
        self._made: HtmlRenderer | None = None

    @property
    def html(self) -> HtmlRenderer:
        """The renderer, created at first use."""
        if self._made is None:
            from .render import HtmlRenderer

            self._made = HtmlRenderer(self._pages, _flash, self._theme, self._language)
        return self._made

    def register(self, register: Callable[[Route], None]) -> None:
        """Register the chat and the files of all pages."""
        register(SiteRoute("GET", "/", self.chat, auth="person", page=Page("Chat", order=-1)))
        register(SiteRoute("GET", "/chat/{id}", self.chat, auth="person"))
        register(SiteRoute("GET", "/static/{version}/{name:path}", self.static, auth="none"))
        register(SiteRoute("GET", "/push-worker.js", self.worker, auth="none"))
        register(SiteRoute("GET", "/manifest.webmanifest", self.manifest, auth="none"))
        for method in ("GET", "POST"):
            register(SiteRoute(method, SHARE_PATH, self.share, auth="none"))

    async def chat(self, request: RequestLike) -> Response | Redirect:
        """``GET /`` and ``GET /chat/{id}``: the same page, which loads its content from ``/api``.

        If the chat does not exist or belongs to another person, the status is 404. Without a model,
        an operator sets one up before the first chat.
        """
        session = path_param(request, "id")
        if not session and identity(request).is_operator and needs_setup(self._host):
            return Redirect(SETUP_PATH)
        name = await self._name_of(identity(request), session) if session else ""
        made = await self.html.chat(request, session, name or "")
        if name is None:
            made.status_code = 404
        return made

    async def static(self, request: RequestLike) -> Response:
        """``GET /static/{version}/{name}``."""
        return await self.html.assets.serve(request)

    async def worker(self, request: RequestLike) -> Response:
        """``GET /push-worker.js``: a service worker controls only what is below its own path."""
        return await self.html.assets.serve_worker(request)

    async def manifest(self, request: RequestLike) -> Response:
        """``GET /manifest.webmanifest``: what a browser needs to install the page as an app."""
        from starlette.responses import JSONResponse

        made = manifest(self.html.assets.base)
        return JSONResponse(made, media_type="application/manifest+json")

    async def share(self, request: RequestLike) -> Response:
        """``/share``: what is shared with the app comes here if its worker has not kept it."""
        text = t("What you shared has not arrived.")
        raise Problem(409, "not_kept", text, t("Open Hookline, then share it again."))

    async def page(self, request: RequestLike, view: View) -> Response:
        """Return the page that shows a view."""
        return await self.html.page(request, view)

    async def problem(self, request: RequestLike, problem: Problem) -> Response:
        """Return the page that shows a problem."""
        return await self.html.problem(request, problem)

    async def _language(self, who: Identity) -> str:
        return (await self._settings.read(who.name)).language

    async def _theme(self, who: Identity) -> str:
        return (await self._settings.read(who.name)).theme

    def _pages(self, who: Identity) -> Sequence[PageLink]:
        server = self._host.services.get(WebServer)
        return server.pages(who) if server is not None else ()


def _flash(request: RequestLike) -> tuple[str, str] | None:
    flash = request.scope.get(FLASH)
    return (flash.message, flash.tone) if isinstance(flash, Redirect) and flash.message else None


def manifest(static: str) -> dict[str, Any]:
    """Return the manifest of the app; what is shared with it goes into a new chat's message box."""
    icons = [("icon-192.png", 192, "any"), ("icon-512.png", 512, "any")]
    icons.append(("maskable-512.png", 512, "maskable"))
    return {
        "id": "/",
        "name": "Hookline",
        "short_name": "Hookline",
        "start_url": "/",
        "scope": "/",
        "display": "standalone",
        "background_color": "#fcfcfb",
        "theme_color": "#0a6a64",
        "icons": [
            {"src": f"{static}/{name}", "sizes": f"{n}x{n}", "type": "image/png", "purpose": use}
            for name, n, use in icons
        ],
        "share_target": {
            "action": SHARE_PATH,
            "method": "POST",
            "enctype": "multipart/form-data",
            "params": {
                "title": "title",
                "text": "text",
                "url": "url",
                "files": [{"name": "files", "accept": SHARED_TYPES}],
            },
        },
    }
