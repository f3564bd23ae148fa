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
from .search import SearchResult, search
from .store import ArtifactStore, StoredText

MAX_FETCH_CHARS = 16_000
"""Code points that one ``fetch_artifact`` returns at most."""
EXPIRE_INTERVAL = 3600.0
"""Seconds between two deletions of expired texts."""
STORE_TIMEOUT = 8.0
"""Seconds that storing may take; the hook's own deadline is 10 s."""


class Artifacts(Plugin[ArtifactsConfig]):
    """Stores long results and shows the model their beginning and end."""

    _store: ArtifactStore

    @hookimpl
    def setup(self, host: Host) -> None:
        """Create the store, which opens the plugin's storage on first use."""
        self._store = ArtifactStore(lambda: host.storage, host.now, self.config.ttl_hours * 3600)
        host.services.provide(ArtifactKeeper, self._store)

    @hookimpl
    def register_jobs(self, register: Callable[[Job], None]) -> None:
        """Register the job that deletes expired texts."""
        register(Job("expire", self._store.delete_expired, EXPIRE_INTERVAL, at_start=True))

    @hookimpl
    def register_routes(self, register: Callable[[Route], None]) -> None:
        """Register ``/artifacts/ID``, the whole text as a file."""
        from .download import download

        register(Route("GET", "/{id}", partial(download, self._store), auth="person"))

    @hookimpl
    async def post_tool(self, ctx: Context, result: ToolResult) -> ToolResult | None:
        """Cut a long result, unless its tool is ``paged``."""
        if len(result.text) <= self.config.max_chars or (ctx.tool is not None and ctx.tool.paged):
            return None
        text = _storable(result.text)
        if len(text) <= self.config.max_chars:  # joined surrogate pairs
            return None
        try:
            async with asyncio.timeout(STORE_TIMEOUT):
                id_ = await self._store.keep(ctx, text, await self._origins(ctx, result))
        except (HooklineError, OSError, TimeoutError) as error:
            reason = str(error) or f"not done within {STORE_TIMEOUT:g} s"
            self.log.warning("a long result was not cut, because it cannot be stored: %s", reason)
            return None
        return replace(result, text=_cut(text, self.config.head, self.config.tail, id_))

    async def _origins(self, ctx: Context, result: ToolResult) -> tuple[Origin, ...]:
        """The origins of a result, including those of the files that its call has read."""
        effects = ctx.effects(result.call) if ctx.tool is not None else ()
        read = [effect.target for effect in effects if effect.kind == "read"]
        files = [ctx.paths.workspace / path for path in read if path]
        return merge_origins(result.origins, await origins_of(ctx.host, files) if files else ())

    @tool(read_only=True, paged=True, origin="outside")
    async def fetch_artifact(
        self,
        ctx: Context,
        id: str,  # noqa: A002 - what the model calls it
        offset: int | None = None,
        length: int | None = None,
        pattern: str | None = None,
    ) -> ToolOutput:
        """Read what was left out of a long result: characters from offset, or the lines that match
        a regular expression."""
        start = offset or 0
        size = min(MAX_FETCH_CHARS if length is None else length, MAX_FETCH_CHARS)
        if start < 0 or size < 1:
            raise ToolError("offset counts from 0 at the beginning, and length is at least 1")
        stored = await self._store.find(ctx, id.strip())
        if start >= stored.chars:
            raise ToolError(
                f"offset {start} is past the end: the artifact has {stored.chars} characters"
            )
        if pattern:
            text = await self._store.read(stored, 0, stored.chars)
            found = await asyncio.to_thread(search, text, pattern, start, size)
            return _output(stored, *_format_matches(found, pattern))
        stop = min(start + size, stored.chars)
        text = await self._store.read(stored, start, stop)
        return _output(stored, text, _position_note(stored, start, stop))


def _output(stored: StoredText, text: str, note: str) -> ToolOutput:
    return ToolOutput(text, notes=(note,) if note else (), origins=stored.origins)


def _position_note(stored: StoredText, start: int, stop: int) -> str:
    shown = f"characters {start} to {stop} of {stored.chars}"
    return f"{shown}; go on with offset={stop}" if stop < stored.chars else f"{shown}, the end"


def _format_matches(found: SearchResult, pattern: str) -> tuple[str, str]:
    """Return the matches as lines that begin with their offset, and a note about them."""
    if not found.matches:
        return f"No line matches {pattern!r}.", ""
    text = "\n".join(f"{match.start}: {match.text}" for match in found.matches)
    note = "each line begins with its offset"
    if found.rest is not None:
        why = "the search took too long" if found.slow else "there are more"
        note += f"; {why}, go on with offset={found.rest}"
    return text, note


def _storable(text: str) -> str:
    """Return ``text`` with surrogate pairs joined and lone ones replaced, as the model reads it."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _cut(text: str, head: int, tail: int, id_: str) -> str:
    """Return the first ``head`` and last ``tail`` code points and a marker that names the
    artifact."""
    left_out = len(text) - head - tail
    marker = f'[… {left_out} characters left out; fetch_artifact(id="{id_}")]'
    return f"{text[:head]}\n{marker}\n{text[len(text) - tail :]}"
