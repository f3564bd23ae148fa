"""``hookline mcp login``: a person logs in with their browser."""

from __future__ import annotations

import asyncio
import sys
import webbrowser
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from hookline_hookspecs import Host, ToolError

from .approval_text import count_tools
from .connection import Connection, Transport
from .guarded_http import client
from .oauth import LoopbackServer, TokenFile, make_provider, parse_redirect, token_file
from .servers import ToolServer

if TYPE_CHECKING:
    from mcp.shared.auth import AuthorizationCodeResult

SDK_STATE_MISMATCH = "State parameter mismatch"
"""The SDK's error when a redirect belongs to another login."""
LOGIN_CONNECT_TIMEOUT = 600.0
"""Seconds for connecting, including the person's login."""


async def log_in(server: ToolServer, host: Host, *, paste: bool, say: Callable[[str], None]) -> str:
    """Log in to a server in the person's browser; return a message for them.

    Raises:
        HooklineError: the login failed.
    """
    tokens = TokenFile(token_file(host.home, server.name), server.config.url, None)
    with tokens.restore_on_failure():
        return await _connect_and_log_in(server, host, paste=paste, say=say)


async def _connect_and_log_in(
    server: ToolServer, host: Host, *, paste: bool, say: Callable[[str], None]
) -> str:
    async with AsyncExitStack() as stack:
        loopback = LoopbackServer()
        if not paste:
            await stack.enter_async_context(loopback)

        async def show(url: str) -> None:
            say(f"Open this page and log in:\n{url}")
            if not paste and sys.stdout.isatty():
                await asyncio.to_thread(webbrowser.open, url)

        async def paste_redirect() -> AuthorizationCodeResult:
            say("Paste the final address of your browser (it may not show a page):")
            return parse_redirect(await asyncio.to_thread(sys.stdin.readline))

        auth = make_provider(
            server,
            host.home,
            show=show,
            wait=paste_redirect if paste else loopback.wait,
            port=loopback.port,
        )
        headers = {name: value.get_secret_value() for name, value in server.config.headers.items()}
        http, guard = client(host.http, headers, LOGIN_CONNECT_TIMEOUT, auth)
        transport = Transport(http=http, guard=guard)
        transport.stack.push_async_callback(http.aclose)
        config = server.config.model_copy(update={"connect_timeout": LOGIN_CONNECT_TIMEOUT})
        connection = Connection(
            ToolServer(server.name, server.key, config, server.source, server.fingerprint),
            transport,
            _decline,
        )
        try:
            await connection.open()
        except ToolError as error:
            if SDK_STATE_MISMATCH not in str(error):
                raise
            raise ToolError(
                f"login failed: the address belongs to another login. Run hookline mcp login "
                f"{server.name} again and open the page that it shows"
            ) from None
        tools = count_tools(connection.listing.tools)
        await connection.close()
    if not token_file(host.home, server.name).exists():
        raise ToolError(f"{server.name} requires no login; remove `auth: oauth`")
    return f"Logged in: {server.name} lists {tools}."


async def _decline(_caller: object, _params: object) -> object:
    from mcp_types import ElicitResult

    return ElicitResult(action="decline")
