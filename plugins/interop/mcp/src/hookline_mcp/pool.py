"""Opens, shares and closes connections, and limits restarts of failing servers."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import Host, Paths, ToolError
from hookline_hookspecs.own_programs import own_path, own_program
from hookline_toolmark import MARK, mark_command

from .code_folders import named_files, server_code_folders
from .config import McpConfig
from .host_questions import UnattendedHosts
from .servers import ToolServer

if TYPE_CHECKING:
    from hookline_sandbox import Sandbox

    from .connection import Connection, Elicit, Transport

INHERITED_VARIABLES = ("HOME", "PATH", "SHELL", "TERM")
"""Environment variables that every program gets besides the configured ones."""
FIRST_RESTART_DELAY, MAX_RESTART_DELAY = 1.0, 60.0
"""Seconds before a failed server is restarted; doubled after each failure."""
MAX_FAILURES = 5
"""Consecutive failures after which a server is not restarted until Hookline restarts."""
MAX_RESTART_WAIT = 5.0
"""Seconds that a call waits for a restart that is due soon, instead of failing."""


@dataclass
class _ServerHealth:
    failures: int = 0
    not_before: float = 0.0
    reason: str = ""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class ConnectionPool:
    """Opens a connection at the first call, and closes it when it has been idle.

    A program runs once for each workspace that calls it, because it may see only that workspace.
    """

    def __init__(self, config: McpConfig, host: Host, elicit: Elicit) -> None:
        self._config = config
        self._host = host
        self._elicit = elicit
        self._open: dict[tuple[str, str], Connection] = {}
        self._used: dict[tuple[str, str], float] = {}
        self._health: dict[tuple[str, str], _ServerHealth] = {}
        self._sandboxes: dict[str, Sandbox] = {}
        self._sweeper: asyncio.Task[Any] | None = None

    async def connect(self, server: ToolServer, paths: Paths, caller: Any = None) -> Connection:
        """Return the open connection to a server, or open one and list the tools.

        ``caller`` is a context and the server's name: the person to ask.

        Raises:
            ToolError: the server cannot be reached, or has failed too often.
        """
        key = self._key(server, paths)
        health = self._health.setdefault(key, _ServerHealth())
        async with health.lock:
            found = self._open.get(key)
            if found is None or found.closed.is_set() or found.server != server:
                await self.drop(server, paths)
                found = self._open[key] = await self._open_connection(server, paths, health, caller)
            self._used[key] = asyncio.get_running_loop().time()
        if self._sweeper is None:
            self._sweeper = self._host.spawn(self._close_idle(), "mcp idle")
        return found

    def record_success(self, server: ToolServer, paths: Paths) -> None:
        """Reset the failure count after an answered call."""
        health = self._health.get(self._key(server, paths))
        if health is not None:
            health.failures = 0

    def record_failure(self, server: ToolServer, paths: Paths, reason: str) -> None:
        """Count a failure and set the earliest time of the next restart."""
        health = self._health.setdefault(self._key(server, paths), _ServerHealth())
        health.failures += 1
        health.reason = reason
        wait = min(MAX_RESTART_DELAY, FIRST_RESTART_DELAY * 2 ** (health.failures - 1))
        health.not_before = asyncio.get_running_loop().time() + wait

    async def drop(self, server: ToolServer, paths: Paths) -> None:
        """Close the connection, if there is one."""
        found = self._open.pop(self._key(server, paths), None)
        if found is not None:
            await found.close()

    async def close(self) -> None:
        """Close every connection and end every server."""
        found = list(self._open.values())
        self._open = {}
        await asyncio.gather(*[one.close() for one in found], return_exceptions=True)
        for sandbox in self._sandboxes.values():
            sandbox.close()

    def _key(self, server: ToolServer, paths: Paths) -> tuple[str, str]:
        own = server.config.url or server.config.cwd
        return server.key, "" if own else str(paths.workspace)

    async def _open_connection(
        self, server: ToolServer, paths: Paths, health: _ServerHealth, caller: Any
    ) -> Connection:
        if health.failures >= MAX_FAILURES:
            raise ToolError(
                f"MCP server {server.name} failed {health.failures} times in a row and is not "
                f"restarted ({health.reason}). Run `hookline mcp test {server.name}`"
            )
        wait = health.not_before - asyncio.get_running_loop().time()
        if wait > MAX_RESTART_WAIT:
            raise ToolError(
                f"MCP server {server.name} failed ({health.reason}). Next restart in {wait:.0f} s"
            )
        await asyncio.sleep(max(0.0, wait))
        try:
            from .connection import Connection
        except ImportError as error:
            raise ToolError(
                f"cannot import the package mcp ({error}). Run `pip install 'hookline[mcp]'`"
            ) from error
        try:
            made = Connection(
                server, await self._make_transport(server, paths), self._elicit, caller
            )
            await made.open()
        except ToolError as error:
            self.record_failure(server, paths, str(error))
            raise
        return made

    async def _make_transport(self, server: ToolServer, paths: Paths) -> Transport:
        from .connection import Transport

        if not server.config.url:
            return await self._program_transport(server, paths)
        from .guarded_http import client

        config = server.config
        headers = {name: value.get_secret_value() for name, value in config.headers.items()}
        auth = None
        transport = Transport()
        if config.auth == "oauth":
            from .oauth import TurnLogin, make_provider

            login = TurnLogin(server, self._host.home, transport)
            auth = make_provider(
                server, self._host.home, show=login.show, wait=login.wait, port=login.port
            )
        http, guard = client(self._host.http, headers, config.timeout, auth)
        transport.http = http
        transport.guard = guard
        transport.stack.push_async_callback(http.aclose)
        return transport

    async def _program_transport(self, server: ToolServer, paths: Paths) -> Transport:
        from .connection import Transport

        config = server.config
        env = self._host.env
        variables = {name: env[name] for name in INHERITED_VARIABLES if env.get(name)}
        variables["PATH"] = own_path(variables.get("PATH"))
        variables |= config.env
        variables[MARK] = uuid.uuid4().hex
        if server.data is not None:
            await asyncio.to_thread(_make_folder, server.data)
        folder, program = _find_program(server, paths, variables.get("PATH"))
        argv = [program, *config.args]
        transport = Transport(mark_command(argv), variables, folder)
        if not config.sandbox:
            return transport
        from hookline_sandbox import Method, Places, Sandbox, found

        here = await asyncio.to_thread(found)
        if here.method is Method.NONE:
            return transport
        sandbox = self._sandboxes.get(server.key)
        if sandbox is None:
            read_only = [] if server.project else _read_only(argv, folder, config.writable)
            sandbox = Sandbox(
                self._host.home, read_only=[*config.read_only, *read_only], writable=config.writable
            )
            self._sandboxes[server.key] = sandbox
        socket = None
        if here.method.has_namespaces:
            from hookline_sandbox.network_access import NetworkAccess
            from hookline_sandbox.proxy import Proxy

            later = UnattendedHosts(self._host, server.name)
            transport.network = NetworkAccess(self._host, later)
            guarded = Proxy(self._host.http, transport.network)
            proxy = await transport.stack.enter_async_context(guarded)
            socket = proxy.socket
        refused = (lambda _: None) if config.cwd else paths.check_path
        protection = partial(paths.protection, workspace=folder)
        places = Places(folder, folder, refused, protection, read_only=paths.read_only_places())
        transport.hint = (
            "; in the sandbox it can only read its workspace, installed programs, and the folders "
            "under its `read_only` and `writable`"
        )
        transport.env = sandbox.environment(variables, str(folder), socket)
        transport.argv = await asyncio.to_thread(
            sandbox.wrapped, argv, places, transport.env, str(folder), socket
        )
        return transport

    async def _close_idle(self) -> None:
        """Close idle connections, forever."""
        while True:
            await asyncio.sleep(min(60.0, self._config.idle_seconds))
            late = asyncio.get_running_loop().time() - self._config.idle_seconds
            for key, found in list(self._open.items()):
                if self._used.get(key, 0.0) < late and not found.busy:
                    del self._open[key]
                    await found.close()


def _make_folder(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def _read_only(argv: list[str], workspace: Path, writable: Sequence[str]) -> list[str]:
    """Return the folders of a server's code, and other files that its command line names unless
    they are in a folder that it may write to."""
    folders = [workspace, *(Path(name).expanduser() for name in writable)]
    files = [
        name
        for name in named_files(argv)
        if not any(Path(name).resolve().is_relative_to(folder.resolve()) for folder in folders)
    ]
    return [*server_code_folders(argv), *files]


def _find_program(server: ToolServer, paths: Paths, path: str | None) -> tuple[Path, str]:
    """Return a server's working folder and program. Raises ``ToolError`` if either is missing."""
    config = server.config
    folder = Path(config.cwd).expanduser() if config.cwd else paths.workspace
    program = own_program(config.command, path=path)
    if program is None or not folder.is_dir():
        problem = f"folder {folder} not found. Create it or correct `cwd`"
        if program is None:
            problem = f"program {config.command} not found. Install it or write its full path"
        raise ToolError(f"cannot start MCP server {server.name}: {problem}")
    return folder, str(Path(program).absolute())
