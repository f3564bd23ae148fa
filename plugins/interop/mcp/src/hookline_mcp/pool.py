"""Connections that are open, how they are made, and when a server that fails is left alone."""

from __future__ import annotations

import asyncio
import shutil
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import Context, Host, Paths, ToolError
from hookline_toolmark import MARK, branding

from .config import McpConfig
from .own import own_folders
from .servers import Server

if TYPE_CHECKING:
    from hookline_sandbox import Sandbox

    from .connection import Connection, Elicit, Way

PASSED = ("HOME", "PATH", "SHELL", "TERM")
"""Variables that every server gets beside those that are configured."""
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
"""Seconds before a server that failed is started again; doubled each time."""
OFF_AFTER = 5
"""Failures in a row after which a server is left alone until Hookline starts anew."""
PATIENCE = 5.0
"""Seconds that a call waits for a server to be due again, rather than fail."""


@dataclass
class _Health:
    failures: int = 0
    not_before: float = 0.0
    reason: str = ""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Pool:
    """Opens a connection at the first call, and keeps it until it has been idle for long.

    A program runs once for each workspace that calls it, since it may see that workspace alone.
    """

    def __init__(self, config: McpConfig, host: Host, elicit: Elicit) -> None:
        self._config, self._host, self._elicit = config, host, elicit
        self._open: dict[tuple[str, str], Connection] = {}
        self._used: dict[tuple[str, str], float] = {}
        self._health: dict[tuple[str, str], _Health] = {}
        self._sandboxes: dict[str, Sandbox] = {}
        self._sweeper: asyncio.Task[Any] | None = None

    async def connected(self, server: Server, paths: Paths, caller: Any = None) -> Connection:
        """Return an open connection, and its listing, made now if there is none.

        ``caller`` is who can be asked: a context, and the server's name.

        Raises:
            ToolError: the server cannot be reached, or has failed too often.
        """
        key = self._key(server, paths)
        health = self._health.setdefault(key, _Health())
        async with health.lock:
            found = self._open.get(key)
            if found is None or found.closed.is_set() or found.server != server:
                await self.drop(server, paths)
                found = self._open[key] = await self._opened(server, paths, health, caller)
            self._used[key] = asyncio.get_running_loop().time()
        if self._sweeper is None:
            self._sweeper = self._host.spawn(self._sweep(), "mcp idle")
        return found

    def succeeded(self, server: Server, paths: Paths) -> None:
        """A call was answered: earlier failures are forgotten."""
        health = self._health.get(self._key(server, paths))
        if health is not None:
            health.failures = 0

    def failed(self, server: Server, paths: Paths, reason: str) -> None:
        """A server died or did not answer: it is started again later."""
        health = self._health.setdefault(self._key(server, paths), _Health())
        health.failures += 1
        health.reason = reason
        wait = min(LONGEST_WAIT, FIRST_WAIT * 2 ** (health.failures - 1))
        health.not_before = asyncio.get_running_loop().time() + wait

    async def drop(self, server: Server, paths: Paths) -> None:
        """Close the connection, if there is one."""
        found = self._open.pop(self._key(server, paths), None)
        if found is not None:
            await found.close()

    async def close(self) -> None:
        """Close every connection and end every server."""
        found, self._open = list(self._open.values()), {}
        await asyncio.gather(*[one.close() for one in found], return_exceptions=True)
        for sandbox in self._sandboxes.values():
            sandbox.close()

    def _key(self, server: Server, paths: Paths) -> tuple[str, str]:
        own = server.config.url or server.config.cwd
        return server.key, "" if own else str(paths.workspace)

    async def _opened(
        self, server: Server, paths: Paths, health: _Health, caller: Any
    ) -> Connection:
        if health.failures >= OFF_AFTER:
            raise ToolError(
                f"MCP server {server.name} failed {health.failures} times in a row and is left "
                f"alone ({health.reason}); `hookline mcp test {server.name}` shows why"
            )
        wait = health.not_before - asyncio.get_running_loop().time()
        if wait > PATIENCE:
            raise ToolError(
                f"MCP server {server.name} has failed ({health.reason}) and is started again in "
                f"{wait:.0f} s"
            )
        await asyncio.sleep(max(0.0, wait))
        try:
            from .connection import Connection
        except ImportError as error:
            raise ToolError(
                f"MCP servers need the package mcp, which cannot be imported ({error}); install it "
                "with `pip install 'hookline[mcp]'`"
            ) from error
        try:
            made = Connection(server, await self._way(server, paths), self._elicit, caller)
            await made.open()
        except ToolError as error:
            self.failed(server, paths, str(error))
            raise
        return made

    async def _way(self, server: Server, paths: Paths) -> Way:
        from .connection import Way

        if not server.config.url:
            return await self._program(server, paths)
        from .http import client

        config = server.config
        headers = {name: value.get_secret_value() for name, value in config.headers.items()}
        auth, way = None, Way()
        if config.auth == "oauth":
            from .oauth import InTurn, provider

            def person() -> Context | None:
                caller = way.person()
                return caller[0] if caller else None

            login = InTurn(server, self._host.home, person)
            auth = provider(
                server, self._host.home, show=login.show, wait=login.wait, port=login.port
            )
        http, guard = client(self._host.http, headers, config.timeout, auth)
        way.http, way.guard = http, guard
        way.stack.push_async_callback(http.aclose)
        return way

    async def _program(self, server: Server, paths: Paths) -> Way:
        from .connection import Way

        config, env = server.config, self._host.env
        variables = {name: env[name] for name in PASSED if env.get(name)}
        variables |= config.env
        variables[MARK] = uuid.uuid4().hex
        folder, program = _place(server, paths, variables.get("PATH"))
        argv = [program, *config.args]
        way = Way(branding(argv), variables, folder)
        if not config.sandbox:
            return way
        from hookline_sandbox import Method, Places, Sandbox, found

        here = await asyncio.to_thread(found)
        if here.method is Method.NONE:
            return way
        sandbox = self._sandboxes.get(server.key)
        if sandbox is None:
            own = () if server.project else own_folders(argv)
            sandbox = Sandbox(
                self._host.home, read_only=[*config.read_only, *own], writable=config.writable
            )
            self._sandboxes[server.key] = sandbox
        socket = None
        if here.method is Method.BUBBLEWRAP:
            from hookline_sandbox.proxy import Proxy

            proxy = await way.stack.enter_async_context(Proxy(self._host.http))
            socket = proxy.socket
        places = Places(folder, folder, (lambda _: None) if config.cwd else paths.judge)
        way.hint = (
            "; in the sandbox it sees its workspace, installed programs and what `read_only` and "
            "`writable` of its entry name"
        )
        way.env = sandbox.environment(variables, str(folder), socket)
        way.argv = await asyncio.to_thread(
            sandbox.wrapped, argv, places, way.env, str(folder), socket
        )
        return way

    async def _sweep(self) -> None:
        """Close what nobody has called for long."""
        while True:
            await asyncio.sleep(min(60.0, self._config.idle_seconds))
            late = asyncio.get_running_loop().time() - self._config.idle_seconds
            for key, found in list(self._open.items()):
                if self._used.get(key, 0.0) < late and not found.busy:
                    del self._open[key]
                    await found.close()


def _place(server: Server, paths: Paths, path: str | None) -> tuple[Path, str]:
    """Where a server runs, and its program. Raises ``ToolError`` if either is not there."""
    config = server.config
    folder = Path(config.cwd).expanduser() if config.cwd else paths.workspace
    program = shutil.which(config.command, path=path)
    if program is None or not folder.is_dir():
        told = f"folder {folder}; make it, or correct its `cwd`"
        if program is None:
            told = f"program {config.command}; install it, or write its whole path"
        raise ToolError(f"MCP server {server.name} cannot be started: there is no {told}")
    return folder, str(Path(program).absolute())
