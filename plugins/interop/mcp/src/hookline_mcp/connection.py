"""One connection to one server: a task that holds the SDK's client open.

The SDK is imported here, and this module only at the first connection.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import anyio
import httpx2
from hookline_hookspecs import HooklineError, ToolError
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    REQUEST_TIMEOUT,
    Implementation,
    JSONRPCResponse,
    ToolListChangedNotification,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from .catalog import Listing, listing_of
from .servers import Server, needs_login
from .stdio import Errors, stdio
from .wire import problem, visible

logging.getLogger("mcp").setLevel(logging.CRITICAL)  # what fails is told by the call that fails
MOST_TOOLS = 2_000
"""Tools of one server that are listed."""
MOST_PAGES = 100
_TICK = 1.0
_CLOSED = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream)
CLOSED = "Connection closed"
TIMED_OUT = "Request '"
"""How the SDK words its own errors."""
SESSION_GONE = "Session terminated"
"""What the SDK says where an HTTP server has forgotten the session: nothing was done."""

Elicit = Callable[[Any, Any], Any]
"""``(caller, params)`` to an ``ElicitResult``; ``caller`` is what :meth:`Connection.call` got."""
caller_of: ContextVar[Any] = ContextVar("hookline_mcp_caller", default=None)
"""Who calls in the running task: a context and the server's name."""


class Dead(Exception):
    """The server is gone. ``sent`` is False if the call was certainly not carried out."""

    def __init__(self, text: str, *, sent: bool = True) -> None:
        super().__init__(text)
        self.sent = sent


@dataclass
class Way:
    """How a server is reached: the transport, and what is known when it fails.

    ``argv``, ``env`` and ``cwd`` are for a program, ``http`` and ``guard`` for an address.
    ``stack`` is closed with the connection; ``hint`` is added where a program ends at once;
    ``person`` returns who can be asked for what the server wants now.
    """

    argv: list[str] = field(default_factory=list)
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: Path = Path()
    http: httpx2.AsyncClient | None = None
    guard: Any = None
    errors: Errors = field(default_factory=Errors)
    hint: str = ""
    person: Callable[[], Any] = lambda: None
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)


class Connection:
    """An open connection; :meth:`open` makes it, :meth:`close` ends it."""

    def __init__(self, server: Server, way: Way, elicit: Elicit, opener: Any = None) -> None:
        self.server = server
        self._opener = opener
        way.person = self._alone
        self.listing = Listing({}, {})
        self.stale = False
        """True once the server said that its tools have changed."""
        self._way = way
        self._elicit = elicit
        self._client: Client | None = None
        self._task: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._pages: list[Any] = []
        self._callers: list[Any] = []
        self._asking: list[Any] = []
        self.closed = asyncio.Event()

    async def open(self) -> None:
        """Connect and list the tools.

        Raises:
            ToolError: it cannot be reached; with the reason.
        """
        self._task = asyncio.create_task(self._hold(), name=f"mcp {self.server.name}")
        seconds = self.server.config.connect_timeout
        try:
            async with asyncio.timeout(seconds):
                await asyncio.shield(self._ready)
        except TimeoutError:
            await self.close()
            raise ToolError(
                f"MCP server {self.server.name} did not answer within {seconds:g} s{self._why()}"
            ) from None
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """End the connection, and the server's process."""
        self._stop.set()
        task = self._task
        if task is not None:
            patience = 5.0 if self._client is not None else 0.0
            done, _ = await asyncio.wait([task], timeout=patience)
            if not done:
                task.cancel()
                await asyncio.wait([task], timeout=5)
        if self._ready.done() and not self._ready.cancelled():
            self._ready.exception()

    @property
    def busy(self) -> bool:
        """True while a call is under way."""
        return bool(self._callers)

    async def call(self, tool: str, arguments: Mapping[str, Any], caller: Any) -> Any:
        """Call a tool and return the SDK's ``CallToolResult``.

        Raises:
            Dead: the server is gone, or did not answer in time.
            ToolError: it answered with an error.
        """
        client = self._client
        if client is None or self.closed.is_set():
            raise Dead("it has ended", sent=False)
        token = caller_of.set(caller)
        self._callers.append(caller)
        gone = asyncio.create_task(self.closed.wait())
        work = asyncio.create_task(client.call_tool(tool, dict(arguments)))
        try:
            await self._wait(work, gone, caller)
            if not work.done():
                raise Dead(self._end())
            return work.result()
        except MCPError as error:
            raise self._told(error) from None
        except (*_CLOSED, httpx2.TransportError) as error:
            raise Dead(self._end()) from error
        except (ValueError, RuntimeError) as error:
            raise ToolError(f"MCP server {self.server.name}: {_one_line(error)}") from error
        finally:
            caller_of.reset(token)
            self._callers.remove(caller)
            for task in (gone, work):
                task.cancel()
            await asyncio.gather(gone, work, return_exceptions=True)

    async def _wait(self, work: asyncio.Task[Any], gone: asyncio.Task[Any], caller: Any) -> None:
        """Until call or connection have ended. Time stands still while a person is asked."""
        left, clock = self.server.config.timeout, asyncio.get_running_loop().time
        while not work.done():
            began = clock()
            await asyncio.wait(
                [work, gone], timeout=min(left, _TICK), return_when=asyncio.FIRST_COMPLETED
            )
            if gone.done():
                await asyncio.wait([work], timeout=0.2)  # the answer may be on its way
                return
            if not any(one is caller for one in self._asking):
                left -= clock() - began
            if left <= 0 and not work.done():
                raise Dead(f"it did not answer within {self.server.config.timeout:g} s")

    def _told(self, error: MCPError) -> Exception:
        code, text = error.error.code, _one_line(error)
        # Servers use these codes for errors of their own, too.
        if code == CONNECTION_CLOSED and text == CLOSED:
            return Dead(self._end())
        if code == REQUEST_TIMEOUT and text.startswith(TIMED_OUT):
            return Dead(f"it did not answer within {self.server.config.timeout:g} s")
        if SESSION_GONE in text:
            return Dead("it has forgotten the session", sent=False)
        return ToolError(f"MCP server {self.server.name}: {text}{self._refused()}{self._status()}")

    async def list_again(self) -> Listing:
        """List the tools anew. Raises :class:`Dead` or ``ToolError``."""
        assert self._client is not None
        self.stale = False
        try:
            async with asyncio.timeout(self.server.config.connect_timeout):
                await self._list(self._client)
        except MCPError as error:
            raise self._told(error) from None
        except (TimeoutError, *_CLOSED, httpx2.TransportError) as error:
            raise Dead("it did not list its tools", sent=False) from error
        return self.listing

    # The task

    async def _hold(self) -> None:
        try:
            async with self._made() as client:
                await self._list(client)
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
            if not self._ready.done():
                self._ready.set_exception(self._failure(error))
            if not isinstance(error, Exception | BaseExceptionGroup):
                raise
        finally:
            self._client = None
            self.closed.set()
            if not self._ready.done():
                self._ready.set_exception(ToolError(f"MCP server {self.server.name} was closed"))
            with suppress(Exception):
                await self._way.stack.aclose()

    @asynccontextmanager
    async def _made(self) -> AsyncIterator[Client]:
        made = Client(
            self._transport(),
            elicitation_callback=self._asked,
            message_handler=self._heard,
            client_info=Implementation(name="hookline", version=version("hookline")),
            cache=None,
        )
        async with made as client:
            yield client

    @asynccontextmanager
    async def _transport(self) -> AsyncIterator[tuple[Any, Any]]:
        way = self._way
        if way.http is not None:
            from mcp.client.streamable_http import streamable_http_client

            from .http import LARGEST_EVENT

            opened = streamable_http_client(
                self.server.config.url, http_client=way.http, max_sse_event_size=LARGEST_EVENT
            )
        else:
            opened = stdio(way.argv, way.env, way.cwd, way.errors, self.closed.set)
        async with opened as (read, write):
            yield _Tapped(read, self._seen), write

    async def _list(self, client: Client) -> None:
        self._pages.clear()
        kept: list[str] = []
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            page = await client.list_tools(cursor=cursor)
            kept += [tool.name for tool in page.tools]
            cursor = page.next_cursor
            if cursor is None or len(kept) >= MOST_TOOLS:
                break
        info = client.server_info
        self.listing = listing_of(
            self.server.name,
            self._pages[:MOST_TOOLS],
            kept,
            instructions=client.instructions or "",
            title=f"{info.name} {info.version}" if info else "",
            protocol=str(client.protocol_version),
        )
        self._pages.clear()

    def _seen(self, item: Any) -> None:
        """Keep the raw objects of a listing: the SDK drops the fields that it does not know, and
        the whole listing where one tool is no tool."""
        message = getattr(item, "message", None)
        if isinstance(message, JSONRPCResponse):
            tools = message.result.get("tools")
            if isinstance(tools, list) and len(self._pages) < MOST_TOOLS:
                self._pages += tools
                message.result["tools"] = [one for one in tools if problem(one) is None]

    async def _heard(self, message: Any) -> None:
        if isinstance(message, ToolListChangedNotification):
            self.stale = True

    async def _asked(self, context: Any, params: Any) -> Any:
        """An elicitation: put to who called, if that can be told."""
        caller = self.caller()
        with self.asking(caller):
            return await self._elicit(caller, params)

    def caller(self) -> Any:
        """Who caused what the server asks; None if that cannot be told.

        From 2026-07-28 on a question comes in the answer to a call, and so in its context. Before,
        it may concern any call that is under way.
        """
        client = self._client
        if client is not None and client.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return caller_of.get()
        return self._alone()

    def _alone(self) -> Any:
        """Who has the connection made, or the only one who calls; None if there are several."""
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
        leaf = error
        while isinstance(leaf, BaseExceptionGroup) and leaf.exceptions:
            leaf = leaf.exceptions[0]
        if isinstance(leaf, HooklineError):
            return leaf
        if refused := self._refused():
            reason = refused.removeprefix(": ")
        elif isinstance(leaf, MCPError) and leaf.error.code == CONNECTION_CLOSED:
            reason = self._way.errors.fault or f"it ended at once{self._why()}{self._way.hint}"
        elif isinstance(leaf, ValueError):  # of pydantic, several lines
            reason = f"it does not follow the protocol ({str(leaf).splitlines()[0][:200]})"
        else:
            reason = f"{_one_line(leaf) or type(leaf).__name__}{self._why()}"
            if needs_login(self.server.name) not in reason:
                reason += self._status()
        return ToolError(f"MCP server {self.server.name} cannot be reached: {reason}")

    def _end(self) -> str:
        return self._way.errors.fault or f"it ended during the call{self._why()}"

    def _why(self) -> str:
        last = self._way.errors.telling()
        return f" (it said: {last})" if last else ""

    def _status(self) -> str:
        """What the last status means that was an error."""
        status = getattr(self._way.guard, "status", 0)
        if not status:
            return ""
        told = f" (status {status})"
        if status not in (401, 403):
            return told
        if self.server.config.auth == "oauth":
            return f"{told}; {needs_login(self.server.name)}"
        return f"{told}; it wants a login: set `auth: oauth`, or a header with a key"

    def _refused(self) -> str:
        refusal = getattr(self._way.guard, "refusal", "")
        return f": {refusal}" if refusal else ""


def _one_line(error: object) -> str:
    return " ".join(visible(str(error)).split())[:500]


class _Tapped:
    """A stream of messages that shows each of them to ``see`` on its way."""

    def __init__(self, inner: Any, see: Callable[[Any], None]) -> None:
        self._inner, self._see = inner, see

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def receive(self) -> Any:
        item = await self._inner.receive()
        self._see(item)
        return item

    def __aiter__(self) -> _Tapped:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> _Tapped:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> Any:
        return await self._inner.__aexit__(*error)
