"""The plugin: caches results of tools that declare ``cache_ttl``."""

from __future__ import annotations

from dataclasses import replace

from hookline_hookspecs import Answer, Context, Host, Plugin, ToolCall, ToolResult, hookimpl

from .cache_key import cache_key
from .config import ToolCacheConfig
from .result_cache import CachedResult, ResultCache

HIT_NOTE = "from the cache, {age:.0f} s old"


class CacheHits:
    """Calls of one turn that were answered from the cache, by their ids."""

    def __init__(self) -> None:
        self.results: dict[str, CachedResult] = {}


class ToolCache(Plugin[ToolCacheConfig]):
    """Answers repeated tool calls from memory."""

    _results: ResultCache

    @hookimpl
    def setup(self, host: Host) -> None:
        """Create an empty cache."""
        self._results = ResultCache(self.config.max_bytes)

    @hookimpl
    def pre_tool(self, ctx: Context, call: ToolCall) -> Answer | None:
        """Answer from the cache; a stricter verdict of another plugin wins."""
        if ctx.tool is None or not ctx.tool.cache_ttl:
            return None
        cached = self._results.get(cache_key(ctx, ctx.tool, call), ctx.host.now())
        if cached is None:
            return None
        ctx.stash.of(CacheHits).results[call.id] = cached
        return Answer(cached.text, origins=cached.origins)

    # First, so that the cache holds what the tool returned, before other plugins change it.
    @hookimpl(tryfirst=True)
    def post_tool(self, ctx: Context, result: ToolResult) -> ToolResult | None:
        """Store a tool's result; mark a hit and add what ``Answer`` cannot carry."""
        if ctx.tool is None or not ctx.tool.cache_ttl or not result.ok:
            return None
        now = ctx.host.now()
        if result.seconds:  # the tool has run
            cached = CachedResult.of(result, now, ctx.tool.cache_ttl)
            if cached is not None:
                self._results.put(cache_key(ctx, ctx.tool, result.call), cached)
            return None
        hit = ctx.stash.of(CacheHits).results.pop(result.call.id, None)
        if hit is None or hit.text != result.text:
            return None
        notes = (*hit.notes, *result.notes, HIT_NOTE.format(age=now - hit.stored))
        return replace(result, notes=notes, images=hit.images, data=hit.value())
