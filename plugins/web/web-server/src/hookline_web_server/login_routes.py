"""The routes by which a browser signs in and out.

The page ``/login#CODE`` posts the code, so that it is in no URL that a server or a log sees.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape
from importlib.resources import files
from typing import Any

from hookline_hookspecs.strict_json import InvalidJson, parse_off_loop, read_json_object
from hookline_hookspecs.web import N_, Problem, SiteRoute, identity, language, t
from hookline_webkit.assets import Assets
from hookline_webkit.languages import for_page
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response

from .cookies import LoginCookie
from .limits import RateLimits
from .logins import Logins, OtherPersonLoggedIn
from .request_rules import RequestRules, RequestSender
from .responses import local_path

MAX_LOGINS_PER_MINUTE = 5
"""Login attempts from one address."""
MAX_CODE_CHARS = 100
THEME = "hookline-theme"
"""The cookie with the chosen theme."""


class LoginPages:
    """The routes ``/login`` and ``/logout``.

    Args:
        logins: the browsers that are signed in.
        cookies: the login cookie.
        rules: checks the origin of a login.
        rates: limits login attempts.
    """

    def __init__(
        self, logins: Logins, cookies: LoginCookie, rules: RequestRules, rates: RateLimits
    ) -> None:
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
        yield SiteRoute("POST", "/logout", self.logout, auth="person", log=N_("signed out"))

    async def page(self, request: Request) -> Response:
        """Return the login page."""
        page = self._assets.text("login.html")
        for name, text in _sentences().items():
            page = page.replace(f"{{{name}}}", escape(text))
        page = page.replace("{attributes}", _attributes(request.cookies.get(THEME)))
        for name in self._assets.names():
            page = page.replace(f"{{{name}}}", self._assets.url(name))
        return HTMLResponse(page)

    async def icon(self, request: Request) -> Response:
        """Return the icon, which browsers request even if no page links to it."""
        headers = {"Cache-Control": "public, max-age=86400"}
        return Response(self._assets.text("icon.svg"), 200, headers, "image/svg+xml")

    async def robots(self, request: Request) -> Response:
        """Keep search engines away."""
        return PlainTextResponse("User-agent: *\nDisallow: /\n")

    async def who(self, request: Request) -> dict[str, Any]:
        """Return who is signed in, so that the page need not ask for a link."""
        who = await self._current(request, _sender(request))
        return {"name": who.name if who is not None else None}

    async def login(self, request: Request) -> Response:
        """Sign in with a code: ``{"code", "next"?, "switch"?}`` returns ``{"next"}`` and a
        cookie."""
        sender = _sender(request)
        self._rules.require_own_origin(dict(request.scope), sender)
        self._rates.take("login", sender.address, MAX_LOGINS_PER_MINUTE)
        code, next_path, switch = await parse_off_loop(_parse_login, await request.body())
        before = await self._current(request, sender)
        agent = request.headers.get("user-agent", "")
        try:
            login = await self._logins.redeem(code, agent, before, switch=switch)
        except OtherPersonLoggedIn as error:
            fix = t("Using it signs you out first.")
            raise Problem(409, "other_person", f"{error}.", fix) from None
        if login is None:
            raise Problem(
                401,
                "bad_code",
                t("This link has been used already or has expired."),
                t("Run `hookline web` for a new one, or ask the person who sent it."),
            )
        next_path = local_path(next_path)
        if login.identity.role == "auditor" and next_path == "/":
            next_path = "/insights"  # auditors have no chat
        response = JSONResponse({"next": next_path})
        self._cookies.write(response, sender, login.token)
        return response

    async def logout(self, request: Request) -> Response:
        """Sign this browser out."""
        await self._logins.revoke(identity(request).device)
        response = Response(status_code=303, headers={"Location": "/login"})
        response.headers["Clear-Site-Data"] = '"cache", "storage"'
        self._cookies.write(response, _sender(request), "")
        return response

    async def _current(self, request: Request, sender: RequestSender) -> Any:
        token = self._cookies.read(request, sender)
        return await self._logins.identify(token) if token else None


def _sentences() -> dict[str, str]:
    """Return the sentences of the login page by their places in its HTML."""
    return {
        "sign_in": t("Sign in"),
        "signing_in": t("Signing in…"),
        "passkey": t("Sign in with a passkey"),
        "terminal": t("In a terminal on the machine that runs Hookline:"),
        "paste": t("It prints a link that signs this browser in. Or paste a link here:"),
        "link": t("Login link"),
        "javascript": t("Signing in requires JavaScript."),
    }


def _attributes(theme: str | None) -> str:
    """Return the attributes of the login page: language, theme, and messages of its script."""
    spoken = language()
    attributes = {"lang": spoken.code, "dir": spoken.direction}
    if theme in ("light", "dark"):
        attributes["data-theme"] = theme
    if messages := for_page(__package__, spoken.code)["messages"]:
        attributes["data-messages"] = json.dumps(messages, ensure_ascii=False)
    return " ".join(f'{name}="{escape(value)}"' for name, value in attributes.items())


def _sender(request: Request) -> RequestSender:
    sender = request.scope["hookline.sender"]
    assert isinstance(sender, RequestSender)
    return sender


def _parse_login(body: bytes) -> tuple[str, str, bool]:
    try:
        data = read_json_object(body, any_text=True)
        code = data["code"]
        next_path = data.get("next") or "/"
        if isinstance(code, str) and isinstance(next_path, str) and 0 < len(code) <= MAX_CODE_CHARS:
            return code, next_path, data.get("switch") is True
    except (InvalidJson, KeyError, TypeError):
        pass
    raise Problem(400, "bad_request", 'Send the JSON object {"code": "…"}.')
