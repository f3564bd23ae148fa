"""``hookline mcp login``: a person logs in, in their browser."""

from __future__ import annotations

import asyncio
import sys
import webbrowser
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from hookline_hookspecs import Host, ToolError

from .connection import Connection, Way
from .http import client
from .oauth import Loopback, TokenFile, parsed_answer, provider, token_file
from .servers import Server
from .showing import counted

if TYPE_CHECKING:
    from mcp.shared.auth import AuthorizationCodeResult

OTHER_STATE = "State parameter mismatch"
"""How the SDK says that an answer is to another question."""
LONGEST = 600.0
"""Seconds that connecting may take while a person logs in."""


async def log_in(server: Server, host: Host, *, paste: bool, say: Callable[[str], None]) -> str:
    """Connect to a server, sending the person to its page; return what to tell them.

    Raises:
        HooklineError: the login did not succeed.
    """
    tokens = TokenFile(token_file(host.home, server.name), server.config.url, None)
    with tokens.kept_aside():
        return await _logged_in(server, host, paste=paste, say=say)


async def _logged_in(server: Server, host: Host, *, paste: bool, say: Callable[[str], None]) -> str:
    async with AsyncExitStack() as stack:
        loopback = Loopback()
        if not paste:
            await stack.enter_async_context(loopback)

        async def show(url: str) -> None:
            say(f"Open this page and log in:\n{url}")
            if not paste and sys.stdout.isatty():
                await asyncio.to_thread(webbrowser.open, url)

        async def pasted() -> AuthorizationCodeResult:
            say("Paste the address that your browser ends at (it may not show a page):")
            return parsed_answer(await asyncio.to_thread(sys.stdin.readline))

        auth = provider(
            server,
            host.home,
            show=show,
            wait=pasted if paste else loopback.wait,
            port=loopback.port,
        )
        headers = {name: value.get_secret_value() for name, value in server.config.headers.items()}
        http, guard = client(host.http, headers, LONGEST, auth)
        way = Way(http=http, guard=guard)
        way.stack.push_async_callback(http.aclose)
        patient = server.config.model_copy(update={"connect_timeout": LONGEST})
        connection = Connection(
            Server(server.name, server.key, patient, server.source, server.fingerprint),
            way,
            _nobody,
        )
        try:
            await connection.open()
        except ToolError as error:
            if OTHER_STATE not in str(error):
                raise
            raise ToolError(
                f"the login did not succeed: the address belongs to another login; run hookline "
                f"mcp login {server.name} again and open the page that it shows"
            ) from None
        tools = counted(connection.listing.tools)
        await connection.close()
    if not token_file(host.home, server.name).exists():
        raise ToolError(f"{server.name} let us in without a login; take `auth: oauth` out")
    return f"You are logged in: {server.name} lists {tools}."


async def _nobody(_caller: object, _params: object) -> object:
    from mcp_types import ElicitResult

    return ElicitResult(action="decline")
