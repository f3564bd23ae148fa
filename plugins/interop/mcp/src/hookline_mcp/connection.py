"""One connection to one server: a task that keeps the SDK's client open.

This module imports the SDK, so it is itself imported only at the first connection.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
    nullcontext,
    suppress,
)
from contextvars import ContextVar
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
from hookline_hookspecs import HooklineError, ToolError
from mcp.client.auth import OAuthFlowError
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    REQUEST_TIMEOUT,
    Implementation,
    JSONRPCResponse,
    PromptListChangedNotification,
    ResourceListChangedNotification,
    ToolListChangedNotification,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from .catalog import ToolListing, build_listing
from .clean_answers import clean_handshake, clean_lists, clean_result, is_valid
from .observed_stream import ObservedStream
from .server_offers import list_prompts, list_resources
from .servers import ServerError, ServerGone, ToolServer, login_command, needs_login
from .stdio import StderrTail, open_stdio
from .tasks import call_as_task, keep_task, runs_as_task
from .tool_schema import find_problem, sdk_definition, strip_hidden

if TYPE_CHECKING:
    from hookline_sandbox.network_access import NetworkAccess

    from .guarded_http import GuardedTransport

for _name in ("mcp", "client"):  # the SDK's; the failing call reports its error
    logging.getLogger(_name).setLevel(logging.CRITICAL)
MAX_TOOLS = 2_000
"""Tools read from one server."""
MAX_PAGES = 100
WAIT_INTERVAL = 1.0
_CLOSED = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream)
SDK_CONNECTION_CLOSED = "Connection closed"
SDK_TIMEOUT_PREFIX = "Request '"
"""Texts of the SDK's own errors."""
SDK_SESSION_TERMINATED = "Session terminated"
"""The SDK's error when an HTTP server no longer knows the session; the call was not executed."""

LIST_CHANGED = (
    ToolListChangedNotification,
    PromptListChangedNotification,
    ResourceListChangedNotification,
)
Elicit = Callable[[Any, Any], Any]
"""Takes ``(caller, params)``, returns an ``ElicitResult``; ``caller`` as in
:meth:`Connection.call`."""
current_caller: ContextVar[Any] = ContextVar("hookline_mcp_caller", default=None)
"""The caller in the running task: a context and the server's name."""


@dataclass
class Transport:
    """How to reach a server, and details for error messages.

    ``argv``, ``env`` and ``cwd`` are for a program, ``http`` and ``guard`` for a URL. ``stack`` is
    closed with the connection. ``hint`` is added to the error if a program exits at once.
    ``person`` returns the caller to ask about what the server currently needs; the clock of their
    call stops within ``asking``. ``network`` asks callers about hosts that a program in the sandbox
    reaches for.
    """

    argv: list[str] = field(default_factory=list)
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: Path = Path()
    http: httpx2.AsyncClient | None = None
    guard: GuardedTransport | None = None
    errors: StderrTail = field(default_factory=StderrTail)
    hint: str = ""
    person: Callable[[], Any] = lambda: None
    asking: Callable[[Any], AbstractContextManager[None]] = nullcontext
    network: NetworkAccess | None = None
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)


class Connection:
    """A connection; :meth:`open` establishes it, :meth:`close` ends it."""

    def __init__(
        self, server: ToolServer, transport: Transport, elicit: Elicit, opener: Any = None
    ) -> None:
        self.server = server
        self._opener = opener
        transport.person = self._only_caller
        transport.asking = self.asking
        self.listing = ToolListing({}, {})
        self.stale = False
        """True once the server has announced that what it offers changed."""
        self._transport = transport
        self._elicit = elicit
        self._client: Client | None = None
        self._task: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._pages: list[Any] = []
        self._callers: list[Any] = []
        self._asking: list[Any] = []
        self._login_error = ""
        self.closed = asyncio.Event()

    async def open(self) -> None:
        """Connect and list the tools.

        Raises:
            ToolError: the server cannot be reached; the text has the reason.
        """
        self._task = asyncio.create_task(self._run(), name=f"mcp {self.server.name}")
        seconds = self.server.config.connect_timeout
        try:
            async with self._reaching_for(self._opener, "start"):
                await self._wait([self._ready], seconds, self._opener)
            if not self._ready.done():
                raise ToolError(
                    f"MCP server {self.server.name} did not answer within {seconds:g} s"
                    f"{self._last_error()}"
                )
            self._ready.result()
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """End the connection, and the server's process."""
        self._stop.set()
        task = self._task
        if task is not None:
            timeout = 5.0 if self._client is not None else 0.0
            done, _ = await asyncio.wait([task], timeout=timeout)
            if not done:
                task.cancel()
                await asyncio.wait([task], timeout=5)
        if self._ready.done() and not self._ready.cancelled():
            self._ready.exception()

    @property
    def busy(self) -> bool:
        """True while a call is running."""
        return bool(self._callers)

    async def call(self, tool: str, arguments: Mapping[str, Any], caller: Any) -> Any:
        """Call a tool and return the SDK's ``CallToolResult``. Raises as :meth:`request` does."""
        definition = self.listing.tools.get(tool, {})
        if self._client is not None and runs_as_task(definition, self._client.server_capabilities):
            result = await call_as_task(self, tool, arguments, caller)
            if result is not None:
                return result
        return await self.request(
            tool, lambda client: client.call_tool(tool, dict(arguments)), caller
        )

    async def request(
        self, about: str, send: Callable[[Client], Coroutine[Any, Any, Any]], caller: Any
    ) -> Any:
        """Send a request and return the SDK's result. ``about`` names it in questions.

        Raises:
            ServerGone: the server is gone, or did not answer in time.
            ToolError: it answered with an error.
        """
        client = self._client
        if client is None or self.closed.is_set():
            raise ServerGone("it has exited", sent=False)
        token = current_caller.set(caller)
        self._callers.append(caller)
        gone = asyncio.create_task(self.closed.wait())
        work = asyncio.create_task(send(client))
        try:
            async with self._reaching_for(caller, about):
                await self._wait([work, gone], self.server.config.timeout, caller)
            if gone.done():
                await asyncio.wait([work], timeout=0.2)  # the answer may already be on its way
            if not work.done():
                raise await self._gone(closed=gone.done())
            return work.result()
        except MCPError as error:
            raise await self._map_error(error) from None
        except (*_CLOSED, httpx2.TransportError) as error:
            raise await self._gone(closed=True) from error
        except ValidationError as error:
            raise ToolError(f"MCP server {self.server.name}: {_violation(error)}") from error
        except (ValueError, RuntimeError) as error:
            raise ToolError(f"MCP server {self.server.name}: {_one_line(error)}") from error
        finally:
            current_caller.reset(token)
            self._callers.remove(caller)
            for task in (gone, work):
                task.cancel()
            await asyncio.gather(gone, work, return_exceptions=True)

    async def _wait(self, work: Sequence[asyncio.Future[Any]], seconds: float, caller: Any) -> None:
        """Wait until one of ``work`` is done or the time is over; time while a person is asked is
        not counted."""
        clock = asyncio.get_running_loop().time
        network = self._transport.network
        while seconds > 0:
            began, waited = clock(), network.waited if network else 0.0
            done, _ = await asyncio.wait(
                work, timeout=min(seconds, WAIT_INTERVAL), return_when=asyncio.FIRST_COMPLETED
            )
            if done:
                return
            if not any(one is caller for one in self._asking):
                asked = network.waited - waited if network else 0.0
                seconds -= max(0.0, clock() - began - asked)

    async def _gone(self, *, closed: bool) -> Exception:
        """Return the error of a call whose server is gone, or did not answer in time."""
        if not closed:
            return ServerGone(f"it did not answer within {self.server.config.timeout:g} s")
        with suppress(TimeoutError):  # the reason comes after the call's own error
            async with asyncio.timeout(0.5):
                await self.closed.wait()
        if self._login_error:
            return ToolError(f"MCP server {self.server.name}: {self._login_error}")
        return ServerGone(self._end_reason())

    @asynccontextmanager
    async def _reaching_for(self, caller: Any, what: str) -> AsyncIterator[None]:
        """Let new hosts be asked about in the caller's turn; while no call runs, they become
        questions of their own."""
        network = self._transport.network
        if network is None or caller is None or caller[0] is None:
            yield
            return
        from hookline_sandbox.network_access import Asking

        asking = Asking(caller[0], f"MCP server {self.server.name}: {what}")
        network.begin(asking)
        try:
            yield
        finally:
            await network.end(asking)

    async def _map_error(self, error: MCPError) -> Exception:
        code = error.error.code
        text = _one_line(error)
        # Servers use these codes for errors of their own, too.
        if code == CONNECTION_CLOSED and text == SDK_CONNECTION_CLOSED:
            return await self._gone(closed=True)
        if code == REQUEST_TIMEOUT and text.startswith(SDK_TIMEOUT_PREFIX):
            return await self._gone(closed=False)
        if SDK_SESSION_TERMINATED in text:
            return ServerGone("it no longer knows the session", sent=False)
        return ServerError(
            f"MCP server {self.server.name}: {text}{self._refusal_hint()}{self._status_hint()}",
            code,
        )

    async def list_again(self) -> ToolListing:
        """List the tools again. Raises :class:`ServerGone` or ``ToolError``."""
        assert self._client is not None
        self.stale = False
        try:
            async with asyncio.timeout(self.server.config.connect_timeout):
                await self._list_tools(self._client)
        except MCPError as error:
            raise await self._map_error(error) from None
        except (TimeoutError, *_CLOSED, httpx2.TransportError) as error:
            raise ServerGone("it did not list its tools", sent=False) from error
        return self.listing

    async def _run(self) -> None:
        try:
            async with self._open_client() as client:
                await self._list_tools(client)
                self._client = client
                self._ready.set_result(None)
                waiting = [asyncio.create_task(one.wait()) for one in (self._stop, self.closed)]
                try:
                    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    for task in waiting:
                        task.cancel()
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            if isinstance(leaf := _first_leaf(error), OAuthFlowError):
                self._login_error = self._with_status_hint(_one_line(leaf))
            if not self._ready.done():
                self._ready.set_exception(self._failure(error))
            if not isinstance(error, Exception | BaseExceptionGroup):
                raise
        finally:
            self._client = None
            self.closed.set()
            if not self._ready.done():
                closed = ToolError(f"the connection to MCP server {self.server.name} was closed")
                self._ready.set_exception(closed)
            with suppress(Exception):
                await self._transport.stack.aclose()

    @asynccontextmanager
    async def _open_client(self) -> AsyncIterator[Client]:
        made = Client(
            self._open_streams(),
            elicitation_callback=self._on_elicitation,
            message_handler=self._on_message,
            client_info=Implementation(name="hookline", version=version("hookline")),
            cache=None,
        )
        async with made as client:
            yield client

    @asynccontextmanager
    async def _open_streams(self) -> AsyncIterator[tuple[Any, Any]]:
        transport = self._transport
        opened: AbstractAsyncContextManager[Any]
        if transport.http is not None and self.server.config.transport == "sse":
            from mcp.client.sse import sse_client

            http = transport.http
            opened = sse_client(self.server.config.url, httpx_client_factory=lambda *_, **__: http)
        elif transport.http is not None:
            from mcp.client.streamable_http import streamable_http_client

            from .readable_messages import MAX_EVENT_BYTES

            opened = streamable_http_client(
                self.server.config.url,
                http_client=transport.http,
                max_sse_event_size=MAX_EVENT_BYTES,
            )
        else:
            opened = open_stdio(
                transport.argv, transport.env, transport.cwd, transport.errors, self.closed.set
            )
        async with opened as (read, write):
            yield ObservedStream(read, self._record_listing), write

    async def _list_tools(self, client: Client) -> None:
        self._pages.clear()
        kept: list[str] = []
        cursor: str | None = None
        seen: set[str | None] = set()
        known: list[list[Any]] = []
        offered = client.server_capabilities
        has_tools = offered.tools is not None or not (offered.prompts or offered.resources)
        for _ in range(MAX_PAGES if has_tools else 0):
            before = len(self._pages)
            page = await client.list_tools(cursor=cursor)
            if (raw := self._pages[before:]) in known:
                del self._pages[before:]  # the server ignores cursors
                break
            known.append(raw)
            kept += [tool.name for tool in page.tools]
            seen.add(cursor)
            cursor = page.next_cursor
            if not cursor or cursor in seen or len(kept) >= MAX_TOOLS:
                break
        info = client.server_info
        self.listing = build_listing(
            self.server.name,
            self._pages[:MAX_TOOLS],
            kept,
            prompts=await list_prompts(client),
            resources=await list_resources(client),
            instructions=client.instructions or "",
            title=f"{info.name} {info.version}" if info else "",
            protocol=str(client.protocol_version),
        )
        self._pages.clear()

    def _record_listing(self, item: Any) -> None:
        """Keep the raw definitions of a listing: the SDK drops unknown fields, and all tools if one
        is invalid."""
        message = getattr(item, "message", None)
        if isinstance(message, JSONRPCResponse):
            clean_handshake(message.result)
            clean_lists(message.result)
            clean_result(message.result)
            keep_task(message.result)
            tools = message.result.get("tools")
            if isinstance(tools, list) and len(self._pages) < MAX_TOOLS:
                self._pages += tools
                plain = [sdk_definition(one) for one in tools if find_problem(one) is None]
                message.result["tools"] = [
                    one for one in plain if is_valid("tools/list", {"tools": [one]})
                ]

    async def _on_message(self, message: Any) -> None:
        if isinstance(message, LIST_CHANGED):
            self.stale = True

    async def _on_elicitation(self, context: Any, params: Any) -> Any:
        """Pass an elicitation to the person behind the call that caused it."""
        caller = self.caller()
        with self.asking(caller):
            return await self._elicit(caller, params)

    def caller(self) -> Any:
        """Return the caller that a question of the server belongs to; None if that is unclear.

        From protocol 2026-07-28 on, a question arrives within its call. Before, it may belong to
        any running call.
        """
        client = self._client
        if client is not None and client.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return current_caller.get()
        return self._only_caller()

    def _only_caller(self) -> Any:
        """Return the opener, or the only running caller; None if several are running."""
        if self._client is None:
            return self._opener
        return self._callers[0] if len(self._callers) == 1 else None

    @contextmanager
    def asking(self, caller: Any) -> Iterator[None]:
        """Stop the clock of a caller's call while a person is asked."""
        self._asking.append(caller)
        try:
            yield
        finally:
            self._asking.remove(caller)

    def _failure(self, error: BaseException) -> Exception:
        leaf = _first_leaf(error)
        if isinstance(leaf, HooklineError):
            return leaf
        if refused := self._refusal_hint():
            reason = refused.removeprefix(": ")
        elif isinstance(leaf, MCPError) and leaf.error.code == CONNECTION_CLOSED:
            reason = self._transport.errors.fault
            reason = reason or f"it exited at once{self._last_error()}{self._transport.hint}"
        elif isinstance(leaf, ValidationError):
            reason = _violation(leaf)
        elif isinstance(leaf, ValueError):
            reason = f"it violates the protocol ({_one_line(leaf)[:200]})"
        else:
            reason = self._with_status_hint(
                f"{_one_line(leaf) or type(leaf).__name__}{self._last_error()}"
            )
        return ToolError(f"cannot reach MCP server {self.server.name}: {reason}")

    def _end_reason(self) -> str:
        return self._transport.errors.fault or f"it exited during the call{self._last_error()}"

    def _last_error(self) -> str:
        last = self._transport.errors.summary()
        return f" (stderr: {last})" if last else ""

    def _with_status_hint(self, reason: str) -> str:
        known = login_command(self.server.name) in reason
        return reason if known else reason + self._status_hint()

    def _status_hint(self) -> str:
        """Return the last HTTP error status, and what to do about it."""
        guard = self._transport.guard
        if guard is None or not guard.status:
            return ""
        status = guard.status
        text = f" (status {status})"
        if status not in (401, 403):
            return text
        if self.server.config.auth == "oauth":
            return f"{text}; {needs_login(self.server.name)}"
        return f"{text}; the server requires a login: set `auth: oauth`, or a header with a key"

    def _refusal_hint(self) -> str:
        guard = self._transport.guard
        return f": {guard.refusal}" if guard is not None and guard.refusal else ""


def _violation(error: ValidationError) -> str:
    """Name what is wrong with an answer; pydantic's own text has several lines."""
    found = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, found["loc"]))[:100]
    return f"its answer violates the protocol ({place or error.title}: {found['msg'][:200]})"


def _first_leaf(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _one_line(error: object) -> str:
    return " ".join(strip_hidden(str(error)).split())[:500]
