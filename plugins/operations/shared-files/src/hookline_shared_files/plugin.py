"""Plugin ``shared-files``: homes on one store keep the same notes, profiles and skills.

It does nothing unless machines share the store. :mod:`.mirror` synchronizes the files.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from hookline_hookspecs import (
    Context,
    HooklineError,
    Host,
    Inbound,
    NoConfig,
    Plugin,
    Store,
    ToolResult,
    Turn,
    hookimpl,
)

if TYPE_CHECKING:
    from .mirror import FileMirror


MESSAGE_TIMEOUT = 2.0
"""Seconds that a message waits for changes of other homes.

The hook is a guard, which must not refuse the message because the store is slow."""
MIN_SCAN_INTERVAL = 1.0
"""Seconds between two scans after turns, so that many turns share one scan."""
SCAN_INTERVAL = 5.0
"""Seconds between two scans for files that were edited by hand."""


class SharedFiles(Plugin[NoConfig]):
    """Applies changes of other homes to this home's files, and publishes its own changes."""

    _mirror: FileMirror | None = None
    _scan_task: asyncio.Task[None] | None = None
    _not_before = 0.0

    @hookimpl
    async def setup(self, host: Host) -> None:
        """If machines share the store, synchronize this home's files now and from now on."""
        store = host.services.get(Store)
        if store is None or not store.is_shared:
            return
        from .mirror import shared_files

        self._mirror = await shared_files(host, store)
        await self._sync()
        host.spawn(self._follow(), "files")

    @hookimpl
    async def on_message(self, ctx: Context, inbound: Inbound) -> None:
        """Apply changes of other homes before a turn reads the files."""
        if self._mirror is not None:
            try:
                async with asyncio.timeout(MESSAGE_TIMEOUT):
                    await self._sync(look=False)
            except TimeoutError:
                self.log.warning("the store is slow: a turn may read outdated files")

    @hookimpl
    async def post_tool(self, ctx: Context, result: ToolResult) -> None:
        """Publish the changes of a tool."""
        if self._mirror is not None and not (ctx.tool is not None and ctx.tool.read_only):
            await self._sync()

    @hookimpl
    async def end_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Publish the turn's changes, now or soon."""
        if self._mirror is not None and self._scan_task is None:
            self._scan_task = self.host.spawn(self._scan(), "scan files")

    async def _scan(self) -> None:
        clock = asyncio.get_running_loop().time
        await asyncio.sleep(self._not_before - clock())
        self._scan_task, self._not_before = None, clock() + MIN_SCAN_INTERVAL
        await self._sync()

    @hookimpl
    async def teardown(self, host: Host) -> None:
        """Publish the last changes."""
        await self._sync()

    async def _sync(self, *, look: bool = True) -> None:
        if self._mirror is not None:
            try:
                await self._mirror.sync(look=look)
            except HooklineError as error:
                self.log.warning("cannot synchronize files: %s", error)

    async def _follow(self) -> None:
        """Synchronize when another home announces a change, and regularly."""
        from .mirror import TOPIC

        async with self.host.services[Store].listen(TOPIC) as changes:
            while True:
                with suppress(TimeoutError):
                    async with asyncio.timeout(SCAN_INTERVAL):
                        await anext(changes)
                await self._sync()
