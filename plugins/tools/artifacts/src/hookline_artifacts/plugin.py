"""The plugin: cuts long results, stores them, and shows the model the parts it asks for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from hookline_hookspecs import (
    ArtifactKeeper,
    Context,
    HooklineError,
    Host,
    Job,
    Origin,
    Plugin,
    Route,
    ToolError,
    ToolOutput,
    ToolResult,
    hookimpl,
    merge_origins,
    tool,
)
from hookline_hookspecs.file_origins import origins_of

from .config import ArtifactsConfig
from .cut import cut, storable
from .search import Found, search
from .store import ArtifactStore, Kept

MOST = 16_000
"""The most code points that one ``fetch_artifact`` shows (FEATURES, artifacts)."""
EVERY = 3600.0
"""Seconds between two deletions of what has expired."""
STORE_SECONDS = 8.0
"""Seconds that storing may take; the hook's own deadline is 10 s."""


class Artifacts(Plugin[ArtifactsConfig]):
    """Stores long results and shows the model their beginning and end."""

    _store: ArtifactStore

    @hookimpl
    def setup(self, host: Host) -> None:
        """Set up the plugin's storage, which is opened on first use."""
        self._store = ArtifactStore(lambda: host.storage, host.now, self.config.ttl_hours * 3600)
        host.services.provide(ArtifactKeeper, self._store)

    @hookimpl
    def register_jobs(self, register: Callable[[Job], None]) -> None:
        """Delete what has expired."""
        register(Job("expire", self._expire, EVERY, at_start=True))

    @hookimpl
    def register_routes(self, register: Callable[[Route], None]) -> None:
        """Register ``/artifacts/ID``, a whole text as a file."""
        from .page import download

        register(Route("GET", "/{id}", partial(download, self._store), auth="person"))

    async def _expire(self) -> None:
        await self._store.forget_expired()

    @hookimpl
    async def post_tool(self, ctx: Context, result: ToolResult) -> ToolResult | None:
        """Cut a long result, unless its tool is ``paged``."""
        if len(result.text) <= self.config.max_chars or (ctx.tool is not None and ctx.tool.paged):
            return None
        text = storable(result.text)
        if len(text) <= self.config.max_chars:  # joined surrogate pairs
            return None
        try:
            async with asyncio.timeout(STORE_SECONDS):
                id_ = await self._store.keep(ctx, text, await self._origins(ctx, result))
        except (HooklineError, OSError, TimeoutError) as error:
            reason = str(error) or f"not done within {STORE_SECONDS:g} s"
            self.log.warning("a long result is shown whole, as it cannot be kept: %s", reason)
            return None
        return replace(result, text=cut(text, self.config.head, self.config.tail, id_))

    async def _origins(self, ctx: Context, result: ToolResult) -> tuple[Origin, ...]:
        """Where a result came from, the files that its call has read included."""
        effects = ctx.effects(result.call) if ctx.tool is not None else ()
        read = [effect.target for effect in effects if effect.kind == "read"]
        files = [ctx.paths.workspace / path for path in read if path]
        return merge_origins(result.origins, await origins_of(ctx.host, files) if files else ())

    @tool(read_only=True, paged=True, origin="outside")
    async def fetch_artifact(
        self,
        ctx: Context,
        id: str,  # noqa: A002 - the contract's name
        offset: int | None = None,
        length: int | None = None,
        pattern: str | None = None,
    ) -> ToolOutput:
        """Read what was left out of a long result: characters from offset, or the lines that match
        a regular expression."""
        start = offset or 0
        size = min(MOST if length is None else length, MOST)
        if start < 0 or size < 1:
            raise ToolError("offset counts from 0 at the beginning, and length is at least 1")
        kept = await self._store.find(ctx, id.strip())
        if start >= kept.chars:
            raise ToolError(
                f"offset {start} is behind the end: the artifact has {kept.chars} characters"
            )
        if pattern:
            text = await self._store.read(kept, 0, kept.chars)
            found = await asyncio.to_thread(search, text, pattern, start, size)
            return _shown(kept, *_listed(found, pattern))
        stop = min(start + size, kept.chars)
        text = await self._store.read(kept, start, stop)
        return _shown(kept, text, _whereabouts(kept, start, stop))


def _shown(kept: Kept, text: str, note: str) -> ToolOutput:
    return ToolOutput(text, notes=(note,) if note else (), origins=kept.origins)


def _whereabouts(kept: Kept, start: int, stop: int) -> str:
    shown = f"characters {start} to {stop} of {kept.chars}"
    return f"{shown}; go on with offset={stop}" if stop < kept.chars else f"{shown}, the end"


def _listed(found: Found, pattern: str) -> tuple[str, str]:
    """Return the matches as lines that begin with their offset, and a note about them."""
    if not found.matches:
        return f"No line matches {pattern!r}.", ""
    text = "\n".join(f"{match.start}: {match.text}" for match in found.matches)
    note = "each line begins with its offset"
    if found.rest is not None:
        why = "the search took too long" if found.slow else "there are more"
        note += f"; {why}, go on with offset={found.rest}"
    return text, note
