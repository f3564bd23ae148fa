"""The pages and requests by which a browser logs in and out.

``/login#CODE`` posts the code that is behind the ``#``, which no server and no log ever sees.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib.resources import files
from typing import Any

from hookline_hookspecs.web import Problem, SiteRoute, identity
from hookline_webkit.assets import Assets
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response

from .answers import local
from .cookies import Cookies
from .limits import Rates
from .logins import Logins, OtherPerson
from .rules import Rules, Sender

ATTEMPTS = 5
"""Logins that one address may try in a minute."""
LONGEST_CODE = 100
THEME = "hookline-theme"
"""The cookie in which pages keep the theme that was chosen; it says nothing else."""


class LoginPages:
    """The routes ``/login``, ``/logout`` and what they need.

    Args:
        logins: who is logged in.
        cookies: where a browser keeps that.
        rules: what a request that changes something keeps.
        rates: counts attempts.
    """

    def __init__(self, logins: Logins, cookies: Cookies, rules: Rules, rates: Rates) -> None:
        self._logins = logins
        self._cookies = cookies
        self._rules = rules
        self._rates = rates
        self._assets = Assets(files(__package__) / "assets", "/login/assets")

    def routes(self) -> Iterable[SiteRoute]:
        """Return the routes."""
        yield SiteRoute("GET", "/login", self.page, auth="none")
        yield SiteRoute("POST", "/login", self.login, auth="none", max_bytes=4096)
        yield SiteRoute("GET", "/login/who", self.who, auth="none")
        yield SiteRoute("GET", "/login/assets/{name}", self._assets, auth="none")
        yield SiteRoute("GET", "/favicon.ico", self.icon, auth="none")
        yield SiteRoute("GET", "/robots.txt", self.robots, auth="none")
        yield SiteRoute("POST", "/logout", self.logout, auth="person")

    async def page(self, request: Request) -> Response:
        """The page, which is the same for everybody but for the theme chosen on the other pages."""
        theme = request.cookies.get(THEME)
        chosen = f' data-theme="{theme}"' if theme in ("light", "dark") else ""
        page = self._assets.text("login.html").replace("{theme}", chosen)
        for name in self._assets.names():
            page = page.replace(f"{{{name}}}", self._assets.url(name))
        return HTMLResponse(page)

    async def icon(self, request: Request) -> Response:
        """The icon, for browsers that ask for it where no page names one."""
        headers = {"Cache-Control": "public, max-age=86400"}
        return Response(self._assets.text("icon.svg"), 200, headers, "image/svg+xml")

    async def robots(self, request: Request) -> Response:
        """Nothing here is for search engines."""
        return PlainTextResponse("User-agent: *\nDisallow: /\n")

    async def who(self, request: Request) -> dict[str, Any]:
        """Who this browser is logged in as, so that the page need not ask for a link."""
        who = await self._current(request, _sender(request))
        return {"name": who.name if who is not None else None}

    async def login(self, request: Request) -> Response:
        """Take a code: ``{"code", "next"?, "switch"?}`` becomes ``{"next"}`` and a cookie."""
        sender = _sender(request)
        self._rules.check_own(dict(request.scope), sender)
        self._rates.take("login", sender.address, ATTEMPTS)
        code, wanted, switch = _asked(await request.body())
        before = await self._current(request, sender)
        agent = request.headers.get("user-agent", "")
        try:
            login = await self._logins.redeem(code, agent, before, switch=switch)
        except OtherPerson as error:
            fix = "Logging in by it ends the login that this browser has."
            raise Problem(409, "other_person", f"{error}.", fix) from None
        if login is None:
            raise Problem(
                401,
                "bad_code",
                "This link was used already, or is older than 10 minutes.",
                "Run `hookline web` for a new one, or ask who sent it to you.",
            )
        wanted = local(wanted)
        if login.identity.role == "auditor" and wanted == "/":
            wanted = "/insights"  # the first of the two pages that are theirs
        response = JSONResponse({"next": wanted})
        self._cookies.write(response, sender, login.token)
        return response

    async def logout(self, request: Request) -> Response:
        """Log this browser out."""
        await self._logins.revoke(identity(request).device)
        response = Response(status_code=303, headers={"Location": "/login"})
        response.headers["Clear-Site-Data"] = '"cache", "storage"'
        self._cookies.write(response, _sender(request), "")
        return response

    async def _current(self, request: Request, sender: Sender) -> Any:
        token = self._cookies.read(request, sender)
        return await self._logins.identify(token) if token else None


def _sender(request: Request) -> Sender:
    sender = request.scope["hookline.sender"]
    assert isinstance(sender, Sender)
    return sender


def _asked(body: bytes) -> tuple[str, str, bool]:
    try:
        asked = json.loads(body)
        code, wanted = asked["code"], asked.get("next") or "/"
        if isinstance(code, str) and isinstance(wanted, str) and 0 < len(code) <= LONGEST_CODE:
            return code, wanted, asked.get("switch") is True
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass
    raise Problem(400, "bad_request", 'Send the JSON object {"code": "…"}.')
