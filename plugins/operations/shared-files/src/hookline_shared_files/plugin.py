"""Plugin ``shared-files``: homes on one store keep the same notes, profiles and skills.

It does nothing unless machines share the store. :mod:`.mirror` does the work.
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
    from .mirror import Mirror


MESSAGE_SECONDS = 2.0
"""How long a message waits for what other homes have written; its hook is a guard, which must not
refuse the message because the store is slow."""
APART_SECONDS = 1.0
"""Between two looks at all files after turns: with many turns a second it is one look for them."""
LOOK_SECONDS = 5.0
"""How often a process looks for files that were edited by hand, where machines share the store."""


class SharedFiles(Plugin[NoConfig]):
    """Brings this home's files up to date, and shows its own changes to the others."""

    _mirror: Mirror | None = None
    _looking: asyncio.Task[None] | None = None
    _not_before = 0.0

    @hookimpl
    async def setup(self, host: Host) -> None:
        """Where machines share the store, bring this home's files up to date, and follow."""
        store = host.services.get(Store)
        if store is None or not store.is_shared:
            return
        from .mirror import shared_files

        self._mirror = await shared_files(host, store)
        await self._sync()
        host.spawn(self._follow(), "files")

    @hookimpl
    async def on_message(self, ctx: Context, inbound: Inbound) -> None:
        """See what other homes have written, before a turn reads it."""
        if self._mirror is not None:
            try:
                async with asyncio.timeout(MESSAGE_SECONDS):
                    await self._sync(look=False)
            except TimeoutError:
                self.log.warning("the store is slow: a turn may read files as they were before")

    @hookimpl
    async def post_tool(self, ctx: Context, result: ToolResult) -> None:
        """Show other homes what a tool has written."""
        if self._mirror is not None and not (ctx.tool is not None and ctx.tool.read_only):
            await self._sync()

    @hookimpl
    async def end_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Show other homes what was written meanwhile, now or in a moment."""
        if self._mirror is not None and self._looking is None:
            self._looking = self.host.spawn(self._look(), "look at files")

    async def _look(self) -> None:
        clock = asyncio.get_running_loop().time
        await asyncio.sleep(self._not_before - clock())
        self._looking, self._not_before = None, clock() + APART_SECONDS
        await self._sync()

    @hookimpl
    async def teardown(self, host: Host) -> None:
        """Show other homes what was written last."""
        await self._sync()

    async def _sync(self, *, look: bool = True) -> None:
        if self._mirror is not None:
            try:
                await self._mirror.sync(look=look)
            except HooklineError as error:
                self.log.warning("files cannot be shared now: %s", error)

    async def _follow(self) -> None:
        """Look when another home has told of a change, and from time to time."""
        from .mirror import TOPIC

        async with self.host.services[Store].listen(TOPIC) as told:
            while True:
                with suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_SECONDS):
                        await anext(told)
                await self._sync()
