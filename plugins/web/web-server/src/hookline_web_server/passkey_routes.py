"""The routes for passkeys: registering and removing one's own, and signing in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hookline_hookspecs.strict_json import InvalidJson, parse_off_loop, read_json_object
from hookline_hookspecs.web import Problem, SiteRoute, identity, path_param
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from .cookies import LoginCookie
from .limits import RateLimits
from .logins import Logins
from .passkeys import Passkeys
from .request_rules import RequestRules, RequestSender
from .responses import local_path

MAX_LOGINS_PER_MINUTE = 5
"""Attempts to sign in with a passkey from one address."""
MAX_BYTES = 20_000


class PasskeyRoutes:
    """The routes ``/login/passkey`` and ``/login/passkeys``."""

    def __init__(
        self,
        passkeys: Passkeys,
        logins: Logins,
        cookies: LoginCookie,
        rules: RequestRules,
        rates: RateLimits,
    ) -> None:
        self._passkeys, self._logins, self._cookies = passkeys, logins, cookies
        self._rules, self._rates = rules, rates

    def routes(self) -> Iterable[SiteRoute]:
        """Return the routes."""
        own = "/login/passkeys"
        yield SiteRoute("GET", own, self.listed, auth="person")
        yield SiteRoute("POST", f"{own}/options", self.options, auth="person", rate=20)
        yield SiteRoute("POST", own, self.register, auth="person", max_bytes=MAX_BYTES, rate=20)
        yield SiteRoute("DELETE", f"{own}/{{id}}", self.remove, auth="person")
        yield SiteRoute("GET", "/login/passkey", self.state, auth="none")
        yield SiteRoute("POST", "/login/passkey/options", self.login_options, auth="none")
        yield SiteRoute("POST", "/login/passkey", self.login, auth="none", max_bytes=MAX_BYTES)

    async def listed(self, request: Request) -> dict[str, Any]:
        """``GET /login/passkeys``: one's own, and why none can be added here."""
        rows = await self._passkeys.listed(identity(request).name)
        keys = [{k: row[k] for k in ("id", "label", "created", "used")} for row in rows]
        return {"passkeys": keys, "problem": self._passkeys.problem(_sender(request))}

    async def options(self, request: Request) -> dict[str, Any]:
        """``POST /login/passkeys/options``."""
        return await self._passkeys.registration_options(identity(request), _sender(request))

    async def register(self, request: Request) -> Response:
        """``POST /login/passkeys {label, credential}``."""
        body = await _body(request)
        label, credential = body.get("label", ""), _credential(body)
        await self._passkeys.register(
            identity(request), _sender(request), str(label)[:1000], credential
        )
        return JSONResponse({}, 201)

    async def remove(self, request: Request) -> dict[str, Any]:
        """``DELETE /login/passkeys/{id}``."""
        await self._passkeys.remove(identity(request), path_param(request, "id"))
        return {}

    async def state(self, request: Request) -> dict[str, Any]:
        """``GET /login/passkey``: whether one can sign in with a passkey here."""
        is_possible = not self._passkeys.problem(_sender(request))
        return {"offered": is_possible and bool(await self._passkeys.listed())}

    async def login_options(self, request: Request) -> dict[str, Any]:
        """``POST /login/passkey/options``."""
        self._limit(request, "passkey options", 2 * MAX_LOGINS_PER_MINUTE)
        return self._passkeys.login_options(_sender(request))

    async def login(self, request: Request) -> Response:
        """``POST /login/passkey {credential, next?}``: returns ``{next}`` and a cookie."""
        self._limit(request, "passkey", MAX_LOGINS_PER_MINUTE)
        sender, body = _sender(request), await _body(request)
        token = self._cookies.read(request, sender)
        before = await self._logins.identify(token) if token else None
        agent = request.headers.get("user-agent", "")
        made = await self._passkeys.login(sender, _credential(body), agent, before)
        next_path = local_path(str(body.get("next") or "/"))
        if made.identity.role == "auditor" and next_path == "/":
            next_path = "/insights"  # auditors have no chat
        response = JSONResponse({"next": next_path})
        self._cookies.write(response, sender, made.token)
        return response

    def _limit(self, request: Request, what: str, most: int) -> None:
        sender = _sender(request)
        self._rules.require_own_origin(dict(request.scope), sender)
        self._rates.take(what, sender.address, most)


def _sender(request: Request) -> RequestSender:
    sender = request.scope["hookline.sender"]
    assert isinstance(sender, RequestSender)
    return sender


async def _body(request: Request) -> dict[str, Any]:
    try:
        return await parse_off_loop(read_json_object, await request.body())
    except InvalidJson:
        raise Problem(400, "bad_request", "Send a JSON object.") from None


def _credential(body: dict[str, Any]) -> dict[str, Any]:
    found = body.get("credential")
    if not isinstance(found, dict):
        raise Problem(400, "bad_request", 'Send the JSON object {"credential": {…}}.')
    return found
