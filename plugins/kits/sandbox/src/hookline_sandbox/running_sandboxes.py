"""Keeps one running sandbox for each origin of commands, so that what a command starts lives on.

A sandbox is started anew when something has to be hidden or protected that was not there before,
and when it has ended. One that nobody used for a while is closed, unless processes run in it.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .command_server import CommandServer, SandboxEnded
from .control_file_guard import ControlFileGuard
from .network_access import HostGuard
from .proxy import Dialer, Proxy
from .sandbox import Places, Sandbox
from .view import View

IDLE_SECONDS = 900.0
"""A sandbox without processes that was not used for so long is closed at the next command."""
MAX_RUNNING = 16
"""Sandboxes that are kept running; one that is not in use is closed for the next."""
_Identity = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Network:
    """The network of a sandbox: who is asked about hosts, and ports of this machine that its
    loopback leads to."""

    guard: HostGuard
    local_ports: tuple[int, ...] = ()


@dataclass(eq=False, slots=True)
class RunningSandbox:
    """A running sandbox.

    ``in_use`` counts its running commands. ``requests`` is the proxy's count when the last command
    ended. ``has_processes``: commands left some. ``confinement`` is that of the next command, if
    each is confined by itself.
    """

    key: str
    places: Places
    view: View
    files: dict[str, _Identity]
    server: CommandServer
    proxy: Proxy | None
    confinement: dict[str, object] | None = None
    in_use: int = 0
    requests: int = 0
    has_processes: bool = False
    is_replaced: bool = False
    used: float = field(default_factory=time.monotonic)

    def fits(self, view: View) -> bool:
        """Whether it shows exactly this view; what it hides or protects in addition may be gone."""
        if not self.server.is_alive or _folders(view) != _folders(self.view):
            return False
        if not {*view.read_only_inside} <= {*self.view.read_only_inside}:
            return False
        if self.confinement is not None:  # the findings go to each command
            return self.view.findings.hidden == view.findings.hidden
        hidden = set(view.findings.hidden)
        shown = [path for path in self.view.findings.hidden if path not in hidden]
        if any(os.path.lexists(path) for path in shown):  # tracked by git meanwhile
            return False
        # A file that was replaced is another one, and its cover is gone (mount_namespaces(7)).
        return all(self.files.get(path) == found for path, found in _identities(view).items())

    async def refresh(self) -> bool:
        """Look whether processes are left, and return that."""
        try:
            self.has_processes = bool(await self.server.others())
        except SandboxEnded:
            self.has_processes = False
        return self.has_processes


class RunningSandboxes:
    """The running sandboxes, by key."""

    def __init__(self, sandbox: Sandbox, guard: ControlFileGuard, dialer: Dialer) -> None:
        self._sandbox = sandbox
        self._guard = guard
        self._dialer = dialer
        self._running: dict[str, RunningSandbox] = {}
        self._replaced: set[RunningSandbox] = set()
        self._locks: dict[str, asyncio.Lock] = {}

    async def enter(
        self, key: str, places: Places, environment: Mapping[str, str], network: Network | None
    ) -> tuple[RunningSandbox, bool]:
        """Return the sandbox of ``key`` for one command, and whether processes had to be ended.

        environment: of its first process. network: None for none. The caller passes the sandbox to
        :meth:`leave`.

        Raises:
            SandboxEnded: it could not be started; the message says why.
        """
        async with self._locks.setdefault(key, asyncio.Lock()):
            known = self._running.get(key)
            proxy = known.proxy.socket if known and known.proxy else None
            view = await self._view(key, places, environment, network, proxy)
            fits = known is not None and (proxy is not None) == (network is not None)
            lost = False
            if known is not None and not (fits and await asyncio.to_thread(known.fits, view)):
                lost = await known.refresh()
                await self._replace(known)
                known = None
            if known is None:
                await self._close_idle()
                known = await self._start(key, places, environment, network)
                view = known.view
            known.in_use += 1
            known.confinement = self._sandbox.confinement(view)
            return known, lost

    async def leave(self, running: RunningSandbox) -> tuple[list[str], dict[str, str]]:
        """End the use by one command.

        Return the addresses reached since the one before, and why others were refused.
        """
        proxy = running.proxy
        reached = proxy.reached_since(running.requests) if proxy else []
        refused = proxy.take_refused() if proxy else {}
        running.requests = proxy.requests if proxy else 0
        await running.refresh()
        running.in_use -= 1
        running.used = time.monotonic()
        if running.is_replaced and not running.in_use:
            await self._close(running)
        return reached, refused

    def has_processes(self, key: str) -> bool:
        """Whether commands had left processes in the sandbox of ``key`` when the last one ended."""
        running = self._running.get(key)
        return running is not None and running.has_processes

    async def close(self, key: str) -> None:
        """End the sandbox of ``key`` with every process in it."""
        self._locks.pop(key, None)
        if running := self._running.pop(key, None):
            await self._close(running)

    async def close_all(self) -> None:
        """End every sandbox."""
        running = [*self._running.values(), *self._replaced]
        self._running.clear()
        await asyncio.gather(*map(self._close, running))

    async def _start(
        self, key: str, places: Places, environment: Mapping[str, str], network: Network | None
    ) -> RunningSandbox:
        proxy = await Proxy(self._dialer, network.guard).__aenter__() if network else None
        try:
            socket = proxy.socket if proxy else None
            view = await self._view(key, places, environment, network, socket)
            files = await asyncio.to_thread(_identities, view)
            argv = self._sandbox.server(places, view)
            inner = self._sandbox.environment(environment, key, socket)
            server = await CommandServer.start(argv, inner)
        except BaseException:
            if proxy is not None:
                await proxy.__aexit__()
            raise
        self._guard.started(places, server.process)
        self._running[key] = RunningSandbox(key, places, view, files, server, proxy)
        return self._running[key]

    async def _view(
        self,
        key: str,
        places: Places,
        environment: Mapping[str, str],
        network: Network | None,
        proxy: Path | None,
    ) -> View:
        ports = network.local_ports if network is not None else ()
        kept = tuple(self._guard.kept(places))
        return await asyncio.to_thread(
            self._sandbox.view, places, environment, key, proxy, ports, kept
        )

    async def _replace(self, running: RunningSandbox) -> None:
        """Close a sandbox that no longer fits, or let its last command close it."""
        del self._running[running.key]
        if running.in_use:
            running.is_replaced = True
            self._replaced.add(running)
        else:
            await self._close(running)

    async def _close_idle(self) -> None:
        unused = [each for each in self._running.values() if not each.in_use]
        for each in unused:
            await each.refresh()
        unused.sort(key=lambda each: (each.has_processes, each.used))
        excess = len(self._running) - MAX_RUNNING + 1
        for number, each in enumerate(unused):
            is_old = time.monotonic() - each.used > IDLE_SECONDS and not each.has_processes
            if number < excess or is_old:
                del self._running[each.key]
                await self._close(each)

    async def _close(self, running: RunningSandbox) -> None:
        self._replaced.discard(running)
        await running.server.close()
        if running.proxy is not None:
            await running.proxy.__aexit__()
        await self._guard.ended(running.places, running.key)


def _folders(view: View) -> tuple[object, ...]:
    """Return what a sandbox shows besides single files."""
    return (
        view.workspace,
        view.private,
        view.home,
        view.repository,
        tuple(view.read_only),
        tuple(view.writable),
        view.proxy,
        view.local_ports,
    )


def _identities(view: View) -> dict[str, _Identity]:
    """Return device and inode of each hidden or protected file."""
    found: dict[str, _Identity] = {}
    for path in (*view.findings.hidden, *view.findings.frozen, *view.read_only_inside):
        try:
            state = os.lstat(path)
        except OSError:
            continue
        found[path] = (state.st_dev, state.st_ino)
    return found
