"""The ASGI application: rules, routes, who asks, limits, the handler, and what it returned."""

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
from hookline_hookspecs.web import FLASH, IDENTITY, Identity, Keys, Problem, Redirect, Renderer
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from .answers import answer, refusal, wants_page
from .audit import Audit
from .config import WebServerConfig
from .cookies import Cookies
from .limits import Body, Rates, Slots, limited
from .logins import Logins
from .metrics import Metrics
from .places import places
from .rules import RAW_HEADERS, SAFE, Rules, Sender
from .table import METHODS, MOUNT, Entry, Found, Table
from .underway import UnderWay, Work

Scope: TypeAlias = dict[str, Any]
Send: TypeAlias = Callable[[Any], Awaitable[None]]
SENDER = "hookline.sender"
"""The key of the :class:`Sender` in a request's ASGI scope."""
RATES = {"key": 120}
"""Requests of one client in a minute, where a route names no rate."""
MOST_FLASHES = 1000
UNBUFFERED = (b"x-accel-buffering", b"no")
"""Tells nginx to pass on each event as it comes."""


class Site:
    """Answers requests.

    Args:
        config: the plugin's settings.
        host: the plugin's host.
        logins: who is logged in.
        cookies: where a browser keeps that.
        audit: where changes are noted.
        metrics: where requests are counted.
    """

    def __init__(
        self,
        config: WebServerConfig,
        host: Host,
        logins: Logins,
        cookies: Cookies,
        audit: Audit,
        metrics: Metrics,
    ) -> None:
        self._host = host
        self._logins = logins
        self._cookies = cookies
        self._audit = audit
        self._metrics = metrics
        self.rules = Rules(config)
        self.rates = Rates(host.now)
        self._slots = Slots()
        self._table = Table()
        self._plugins: object = None
        self._looked = 0.0
        self._flashes: OrderedDict[str, Redirect] = OrderedDict()
        self.under_way = UnderWay(host)
        logins.on_revoked(self.under_way.end_device)

    # The routes

    @property
    def table(self) -> Table:
        """The routes of the plugins that are on, as of a second ago at most."""
        if time.monotonic() - self._looked > 1.0:
            self._looked = time.monotonic()
            found = self._host.registered(Route)
            names = [(plugin, route.method, route.path) for plugin, route in found]
            if names != self._plugins:
                self._plugins = names
                self._table = Table.of(found)
                self._table.complete("web-server", places())
                for fault in self._table.faults:
                    self._host.log.error("%s", fault)
        return self._table

    def count_streams(self) -> int:
        """Return how many streams are open."""
        return self._slots.streams

    # A request

    async def __call__(self, scope: Scope, receive: Any, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return
        response, body = _Sending(send, self._metrics), Body(receive)
        request = Request(scope, body)
        try:
            await self._answered(request, body, response)
        except ClientDisconnect:
            response.label = response.label or "gone"
        except Exception as error:
            if response.is_started:
                self._host.log.error("a response broke off", exc_info=error)
                raise
            problem = _problem(error, self._host)
            if problem.status != 408:
                response.rest = body.drain
            await self._refuse(request, problem, response)
        finally:
            response.count()

    async def _refuse(self, request: Request, problem: Problem, send: _Sending) -> None:
        try:
            refused = await refusal(request, problem, self._host.services.get(Renderer))
        except Exception:
            self._host.log.exception("a problem could not be shown")
            refused = Response("The server failed; its log says why.", 500)
        await refused(request.scope, request.receive, send)

    async def _answered(self, request: Request, receive: Any, send: _Sending) -> None:
        scope: Any = request.scope
        sender = scope[SENDER] = self.rules.check(scope)
        method, path = scope["method"], scope["raw_path"].decode("ascii")
        found = self.table.find(method, path)
        if found is None:
            # Who is not logged in learns nothing of which paths there are.
            await self._known(request, sender)
            raise self._missing(method, path)
        send.label = found.entry.name
        again = self._asking(request, found.entry, sender)
        who = await self._admitted(request, found.entry, sender, again)
        scope[IDENTITY], scope["path_params"] = who, dict(found.params)
        if who is None or again is None:
            await self._served(scope, receive, send, found, None)
        else:
            with self.under_way.entered(who, again) as work:
                await self._ending(self._served(scope, receive, send, found, work), work, send)
            if who.is_operator and method not in SAFE and send.status < 400:
                self._audit.add(who, f"{method} {scope['path']}", send.status)

    async def _ending(self, serving: Awaitable[None], work: Work, send: _Sending) -> None:
        """Serve, unless the device is logged out meanwhile: then the response ends."""
        try:
            await serving
        except asyncio.CancelledError:
            if not work.is_ended:
                raise
            if not send.is_started:
                raise _unknown() from None
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _served(
        self, scope: Any, receive: Any, send: _Sending, found: Found, work: Work | None
    ) -> None:
        """Call the handler within the limits, and send what it returns."""
        entry = found.entry
        async with self._slots.other(is_known=work is not None) as release:
            taking = limited(receive, entry.route.max_bytes, scope["headers"])
            if entry.route.method == MOUNT:
                root = scope.get("root_path", "") + found.root
                await entry.route.handler({**scope, "root_path": root}, taking, send)
                return
            response = await self._handled(Request(scope, taking), entry)
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

    async def _handled(self, request: Request, entry: Entry) -> Response:
        renderer = self._host.services.get(Renderer)
        is_page = request.method == "GET" and wants_page(request.scope)
        who: Identity | None = request.scope[IDENTITY]
        device = who.device if who is not None else ""
        request.scope[FLASH] = self._flashes.pop(device, None) if is_page else None
        handler = entry.route.handler
        if iscoroutinefunction(handler):
            returned = await handler(request)
        else:  # a plain function may read files or wait; the loop goes on meanwhile
            returned = await run_in_threadpool(handler, request)
            if isawaitable(returned):
                returned = await returned
        if isinstance(returned, Redirect) and returned.message and device:
            self._flashes[device] = returned
            while len(self._flashes) > MOST_FLASHES:
                self._flashes.popitem(last=False)
        return await answer(request, returned, renderer)

    def _missing(self, method: str, path: str) -> Problem:
        allowed = self.table.methods(path)
        if not allowed:
            return Problem(404, "not_found", "There is nothing at this address.")
        allow = ", ".join([*(["HEAD"] if "GET" in allowed else []), *allowed])
        known = method if method in (*METHODS, "HEAD", "OPTIONS", "TRACE", "CONNECT") else "this"
        text = f"Nothing takes {known} at this address."
        return Problem(405, "wrong_method", text, headers={"Allow": allow})

    # Who asks

    def _asking(
        self, request: Request, entry: Entry, sender: Sender
    ) -> Callable[[], Awaitable[Identity]] | None:
        """What says who asks, now and later; None where the handler sees to that."""
        if entry.auth == "none":
            return None
        if entry.auth == "key":
            return partial(self._by_key, request)
        return partial(self._by_cookie, request, sender)

    async def _admitted(
        self,
        request: Request,
        entry: Entry,
        sender: Sender,
        asking: Callable[[], Awaitable[Identity]] | None,
    ) -> Identity | None:
        """Return who asks, if they may. Raises :class:`Problem`."""
        if asking is None:
            return None
        who = await asking()
        if entry.auth != "key":
            self.rules.check_own(dict(request.scope), sender)
        if not self.may_call(who, entry):
            raise self._forbidden(who)
        rate = getattr(entry.route, "rate", 0) or RATES.get(entry.auth, 0)
        if rate:
            self.rates.take(entry.name if entry.auth != "key" else "key", who.device, rate)
        return who

    def may_call(self, who: Identity, entry: Entry) -> bool:
        """Return whether somebody may call a route: the table of roles says so, or without one
        whom the route is for."""
        permissions = self._host.services.get(RolePermissions)
        if permissions is not None:
            method = "GET" if entry.route.method == MOUNT else entry.route.method
            return permissions.may_call(who.role, method, entry.path, entry.auth)
        if who.role == "auditor":
            return entry.name == "POST /logout"
        return entry.auth != "operator" or who.is_operator

    def _forbidden(self, who: Identity) -> Problem:
        if who.role == "auditor":
            told = "An auditor may read the audit and the insights, and nothing else."
            return Problem(403, "forbidden", told, "Open /audit or /insights.")
        return Problem(403, "forbidden", "Only the operator may do this.")

    async def _known(self, request: Request, sender: Sender) -> None:
        if request.scope["path"].startswith("/v1"):
            await self._by_key(request)
        else:
            await self._by_cookie(request, sender)

    async def _by_cookie(self, request: Request, sender: Sender) -> Identity:
        token = self._cookies.read(request, sender)
        who = await self._logins.identify(token) if token else None
        if who is None:
            raise _unknown()
        request.scope[IDENTITY] = who  # a page that says no has the navigation, too
        return who

    async def _by_key(self, request: Request) -> Identity:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and token.strip():
            for keys in self._host.services.all(Keys):
                who = await keys.identify(token.strip())
                if who is not None:
                    return who
        raise Problem(
            401,
            "unauthorized",
            "The API key is missing or not known.",
            "Send `Authorization: Bearer KEY`; `hookline api keys add NAME` makes a key.",
            {"WWW-Authenticate": "Bearer"},
        )


class _Sending:
    """Sends a response, with the headers that every response has."""

    def __init__(self, send: Send, metrics: Metrics) -> None:
        self._send = send
        self._metrics = metrics
        self._began = time.monotonic()
        self.label = ""
        self.status = 0
        self.is_stream = False
        self.rest: Callable[[], Awaitable[None]] | None = None
        """What is to be done when all is sent, before the connection may be closed."""

    @property
    def is_started(self) -> bool:
        """Whether the status has been sent."""
        return self.status != 0

    async def __call__(self, message: Any) -> None:
        """Send a part of the response."""
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


def _unknown() -> Problem:
    return Problem(401, "unauthorized", "You are not logged in.", "Run `hookline web` for a link.")


def _problem(error: Exception, host: Host) -> Problem:
    """What the sender is told of an error."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, HTTPException):
        headers = dict(error.headers or {})
        return Problem(error.status_code, "refused", str(error.detail), headers=headers)
    if isinstance(error, StoreError):
        host.log.error("the store failed: %s", error)
        fix, later = "Try again in a few seconds.", {"Retry-After": "5"}
        return Problem(503, "store", "The database cannot be used at the moment.", fix, later)
    host.log.error("a request failed", exc_info=error)
    return Problem(500, "failed", "The server failed.", "The log of the gateway says why.")
