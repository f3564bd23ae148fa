"""The ASGI application: checks a request, finds its route, identifies the sender, and calls the
handler."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from functools import partial
from inspect import isawaitable, iscoroutinefunction
from typing import Any, TypeAlias

from hookline_hookspecs import Host, Route, StoreError
from hookline_hookspecs.people import RolePermissions
from hookline_hookspecs.web import (
    FLASH,
    IDENTITY,
    Identity,
    Keys,
    Problem,
    Redirect,
    Renderer,
    SiteRoute,
    speaking,
    t,
    translate,
)
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from .active_requests import ActiveRequest, ActiveRequests
from .audit_log import AuditLog
from .config import WebServerConfig
from .cookies import LoginCookie
from .limits import ConcurrencyLimits, RateLimits, RequestBody, limit_body
from .logins import Logins
from .metrics import HttpMetrics
from .placeholder_pages import placeholder_pages
from .reader_language import ReaderLanguages
from .request_rules import RAW_HEADERS, SAFE, RequestRules, RequestSender
from .responses import problem_response, to_response, wants_page
from .route_table import METHODS, MOUNT, RouteEntry, RouteMatch, RouteTable

Scope: TypeAlias = dict[str, Any]
Send: TypeAlias = Callable[[Any], Awaitable[None]]
SENDER = "hookline.sender"
"""Key of the :class:`RequestSender` in the ASGI scope of a request."""
DEFAULT_RATES = {"key": 120}
"""Requests per minute by ``auth``, for routes without a rate of their own."""
MAX_FLASHES = 1000
UNBUFFERED = (b"x-accel-buffering", b"no")
"""Tells nginx not to buffer a stream."""


class WebApplication:
    """Answers requests.

    Args:
        config: the plugin's settings.
        host: the plugin's host.
        logins: the browsers that are signed in.
        cookies: the login cookie.
        audit: records changes.
        metrics: counts requests.
    """

    def __init__(
        self,
        config: WebServerConfig,
        host: Host,
        logins: Logins,
        cookies: LoginCookie,
        audit: AuditLog,
        metrics: HttpMetrics,
    ) -> None:
        self._host = host
        self._logins = logins
        self._cookies = cookies
        self._audit = audit
        self._metrics = metrics
        self.rules = RequestRules(config)
        self.rates = RateLimits(host.now)
        self._slots = ConcurrencyLimits()
        self._table = RouteTable()
        self._plugins: object = None
        self._table_read_at = 0.0
        self._readers = ReaderLanguages(host)
        self._flashes: OrderedDict[str, Redirect] = OrderedDict()
        self.active_requests = ActiveRequests(host)
        logins.on_revoked(self.active_requests.end_device)

    @property
    def table(self) -> RouteTable:
        """The routes of all plugins that are on, at most a second old."""
        if time.monotonic() - self._table_read_at > 1.0:
            self._table_read_at = time.monotonic()
            found = self._host.registered(Route)
            names = [(plugin, route.method, route.path) for plugin, route in found]
            if names != self._plugins:
                self._plugins = names
                self._table = RouteTable.from_routes(found)
                self._table.add_missing("web-server", placeholder_pages())
                for fault in self._table.errors:
                    self._host.log.error("%s", fault)
        return self._table

    def count_streams(self) -> int:
        """Return the number of open streams."""
        return self._slots.streams

    async def __call__(self, scope: Scope, receive: Any, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return
        with speaking(await self._readers.language(scope)):
            await self._answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Any, send: Send) -> None:
        response = _ResponseSender(send, self._metrics)
        body = RequestBody(receive)
        request = Request(scope, body)
        try:
            await self._respond(request, body, response)
        except ClientDisconnect:
            response.label = response.label or "disconnected"
        except Exception as error:
            if response.has_started:
                self._host.log.error("a response failed after it had started", exc_info=error)
                raise
            problem = _problem(error, self._host)
            if problem.status != 408:
                response.rest = body.drain
            await self._refuse(request, problem, response)
        finally:
            response.count()

    async def _refuse(self, request: Request, problem: Problem, send: _ResponseSender) -> None:
        problem.message, problem.fix = translate(problem.message), translate(problem.fix)
        try:
            refused = await problem_response(request, problem, self._host.services.get(Renderer))
        except Exception:
            self._host.log.exception("could not render a problem")
            refused = Response("Internal error. See the server's log.", 500)
        await refused(request.scope, request.receive, send)

    async def _respond(self, request: Request, receive: Any, send: _ResponseSender) -> None:
        scope: Any = request.scope
        sender = scope[SENDER] = self.rules.check(scope)
        method = scope["method"]
        path = scope["raw_path"].decode("ascii")
        found = self.table.find(method, path)
        if found is None:
            # Without a login, the response must not reveal which paths exist.
            await self._require_login(request, sender)
            raise self._not_found_problem(method, path)
        send.label = found.entry.name
        identify = self._identity_check(request, found.entry, sender)
        who = await self._authorize(request, found.entry, sender, identify)
        scope[IDENTITY] = who
        scope["path_params"] = dict(found.params)
        if who is None or identify is None:
            await self._call_within_limits(scope, receive, send, found, None)
        else:
            with self.active_requests.track(who, identify) as work:
                await self._until_logged_out(
                    self._call_within_limits(scope, receive, send, found, work), work, send
                )
            if who.is_operator and method not in SAFE and send.status < 400:
                self._audit.add(who, f"{method} {scope['path']}", send.status)

    async def _until_logged_out(
        self, serving: Awaitable[None], work: ActiveRequest, send: _ResponseSender
    ) -> None:
        """Wait for the response, which ends early if the device is signed out."""
        try:
            await serving
        except asyncio.CancelledError:
            if not work.is_ended:
                raise
            if not send.has_started:
                raise _not_logged_in() from None
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _call_within_limits(
        self,
        scope: Any,
        receive: Any,
        send: _ResponseSender,
        found: RouteMatch,
        work: ActiveRequest | None,
    ) -> None:
        """Call the handler within the limits, and send its response."""
        entry = found.entry
        async with self._slots.request(is_known=work is not None) as release:
            taking = limit_body(receive, entry.route.max_bytes, scope["headers"])
            if entry.route.method == MOUNT:
                root = scope.get("root_path", "") + found.root
                await entry.route.handler({**scope, "root_path": root}, taking, send)
                return
            response = await self._call_handler(Request(scope, taking), entry)
            if not _is_stream(response) or scope["method"] == "HEAD":
                only_head = Response(None, response.status_code, response.headers)
                answered = only_head if _is_stream(response) else response
                await answered(scope, taking, send)
                return
            with self._slots.stream(scope[IDENTITY], scope["client"][0]):
                send.is_stream = True
                if work is not None:
                    work.is_stream = True
                release()
                await response(scope, taking, send)

    async def _call_handler(self, request: Request, entry: RouteEntry) -> Response:
        renderer = self._host.services.get(Renderer)
        is_page = request.method == "GET" and wants_page(request.scope)
        who: Identity | None = request.scope[IDENTITY]
        device = who.device if who is not None else ""
        request.scope[FLASH] = self._flashes.pop(device, None) if is_page else None
        handler = entry.route.handler
        if iscoroutinefunction(handler):
            returned = await handler(request)
        else:  # a plain function may block
            returned = await run_in_threadpool(handler, request)
            if isawaitable(returned):
                returned = await returned
        if isinstance(returned, Redirect) and returned.message and device:
            self._flashes[device] = returned
            while len(self._flashes) > MAX_FLASHES:
                self._flashes.popitem(last=False)
        return await to_response(request, returned, renderer)

    def _not_found_problem(self, method: str, path: str) -> Problem:
        allowed = self.table.methods(path)
        if not allowed:
            return Problem(404, "not_found", t("Page not found."))
        allow = ", ".join([*(["HEAD"] if "GET" in allowed else []), *allowed])
        is_known = method in (*METHODS, "HEAD", "OPTIONS", "TRACE", "CONNECT")
        text = t("{method} is not allowed here.", method=method if is_known else "…")
        return Problem(405, "wrong_method", text, headers={"Allow": allow})

    def _identity_check(
        self, request: Request, entry: RouteEntry, sender: RequestSender
    ) -> Callable[[], Awaitable[Identity]] | None:
        """Return a function that identifies the sender, or None if the route needs no login."""
        if entry.auth == "none":
            return None
        if entry.auth == "key":
            return partial(self._identify_by_key, request)
        return partial(self._identify_by_cookie, request, sender)

    async def _authorize(
        self,
        request: Request,
        entry: RouteEntry,
        sender: RequestSender,
        identify: Callable[[], Awaitable[Identity]] | None,
    ) -> Identity | None:
        """Return the sender if they may call the route. Raises :class:`Problem`."""
        own_rate = entry.route.rate if isinstance(entry.route, SiteRoute) else 0
        if identify is None:
            if own_rate:
                self.rates.take(entry.name, sender.address, own_rate)
            return None
        who = await identify()
        if entry.auth != "key":
            self.rules.require_own_origin(dict(request.scope), sender)
        if not self.may_call(who, entry):
            raise self._forbidden_problem(who)
        rate = own_rate or DEFAULT_RATES.get(entry.auth, 0)
        if rate:
            self.rates.take(entry.name if entry.auth != "key" else "key", who.device, rate)
        return who

    def may_call(self, who: Identity, entry: RouteEntry) -> bool:
        """Return whether a person may call a route, by the permissions of their role; without
        ``access`` by the route's ``auth``."""
        permissions = self._host.services.get(RolePermissions)
        if permissions is not None:
            method = "GET" if entry.route.method == MOUNT else entry.route.method
            return permissions.may_call(who.role, method, entry.path, entry.auth)
        if who.role == "auditor":
            return entry.name == "POST /logout"
        return entry.auth != "operator" or who.is_operator

    def _forbidden_problem(self, who: Identity) -> Problem:
        if who.role == "auditor":
            message = t("Auditors may only read the audit log and the insights.")
            return Problem(403, "forbidden", message, t("Open /audit or /insights."))
        fix = t("Ask an admin to do it, or to make you an admin under People.")
        return Problem(403, "forbidden", t("Only an admin may do this."), fix)

    async def _require_login(self, request: Request, sender: RequestSender) -> None:
        if request.scope["path"].startswith("/v1"):
            await self._identify_by_key(request)
        else:
            await self._identify_by_cookie(request, sender)

    async def _identify_by_cookie(self, request: Request, sender: RequestSender) -> Identity:
        token = self._cookies.read(request, sender)
        who = await self._logins.identify(token) if token else None
        if who is None:
            raise _not_logged_in()
        request.scope[IDENTITY] = who  # so that an error page has the navigation
        return who

    async def _identify_by_key(self, request: Request) -> Identity:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and token.strip():
            for keys in self._host.services.all(Keys):
                who = await keys.identify(token.strip())
                if who is not None:
                    return who
        raise Problem(
            401,
            "unauthorized",
            t("The API key is missing or unknown."),
            t("Send `Authorization: Bearer KEY`. Create a key with `hookline api keys add NAME`."),
            {"WWW-Authenticate": "Bearer"},
        )


class _ResponseSender:
    """Sends a response with the default headers."""

    def __init__(self, send: Send, metrics: HttpMetrics) -> None:
        self._send = send
        self._metrics = metrics
        self._began = time.monotonic()
        self.label = ""
        self.status = 0
        self.is_stream = False
        self.rest: Callable[[], Awaitable[None]] | None = None
        """Awaited after the response is sent, before the connection may be closed."""

    @property
    def has_started(self) -> bool:
        """True once the status has been sent."""
        return self.status != 0

    async def __call__(self, message: Any) -> None:
        """Send one message of the response."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = list(message.get("headers", ()))
            names = {name.lower() for name, _ in headers}
            more = [*RAW_HEADERS, *([UNBUFFERED] if self.is_stream else [])]
            headers += [one for one in more if one[0] not in names]
            message = {**message, "headers": headers}
        elif self.rest is not None and not message.get("more_body"):
            await self._send({**message, "more_body": True})
            await self.rest()
            message = {"type": "http.response.body", "body": b""}
        await self._send(message)

    def count(self) -> None:
        """Count the request."""
        seconds = None if self.is_stream else time.monotonic() - self._began
        self._metrics.count(self.label, self.status, seconds)


def _is_stream(response: Response) -> bool:
    headers = getattr(response, "headers", {})
    return str(headers.get("content-type", "")).startswith("text/event-stream")


def _not_logged_in() -> Problem:
    fix = t("Run `hookline web` for a link.")
    return Problem(401, "unauthorized", t("You are not signed in."), fix)


def _problem(error: Exception, host: Host) -> Problem:
    """Return the problem that is shown for an error."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, HTTPException):
        headers = dict(error.headers or {})
        return Problem(error.status_code, "refused", str(error.detail), headers=headers)
    if isinstance(error, StoreError):
        host.log.error("the store failed: %s", error)
        fix = t("Try again in a few seconds.")
        later = {"Retry-After": "5"}
        return Problem(503, "store", t("The database is unavailable."), fix, later)
    host.log.error("request failed", exc_info=error)
    return Problem(500, "failed", t("Internal error."), t("See the gateway's log."))
