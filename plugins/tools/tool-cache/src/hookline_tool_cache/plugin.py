"""The plugin: remembers results of tools that declare ``cache_ttl`` and answers with them."""

from __future__ import annotations

from dataclasses import replace

from hookline_hookspecs import Answer, Context, Host, Plugin, ToolCall, ToolResult, hookimpl

from .config import ToolCacheConfig
from .entries import Entries, Entry
from .key import key_of

HIT = "from the cache, {age:.0f} s old"


class Hits:
    """Calls of one turn that were answered from the cache, by their ids."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}


class ToolCache(Plugin[ToolCacheConfig]):
    """Answers repeated tool calls from memory."""

    _entries: Entries

    @hookimpl
    def setup(self, host: Host) -> None:
        """Begin with nothing."""
        self._entries = Entries(self.config.max_bytes)

    @hookimpl
    def pre_tool(self, ctx: Context, call: ToolCall) -> Answer | None:
        """Answer from the cache; a stricter verdict of another plugin wins."""
        if ctx.tool is None or not ctx.tool.cache_ttl:
            return None
        entry = self._entries.get(key_of(ctx, ctx.tool, call), ctx.host.now())
        if entry is None:
            return None
        ctx.stash.of(Hits).entries[call.id] = entry
        return Answer(entry.text, origins=entry.origins)

    # Innermost, so that what is remembered is what the tool returned and nothing of the others.
    @hookimpl(tryfirst=True)
    def post_tool(self, ctx: Context, result: ToolResult) -> ToolResult | None:
        """Mark a hit and add what ``Answer`` cannot carry; store what a tool returned."""
        if ctx.tool is None or not ctx.tool.cache_ttl or not result.ok:
            return None
        now = ctx.host.now()
        if result.seconds:  # the tool has run
            entry = Entry.of(result, now, ctx.tool.cache_ttl)
            if entry is not None:
                self._entries.put(key_of(ctx, ctx.tool, result.call), entry)
            return None
        hit = ctx.stash.of(Hits).entries.pop(result.call.id, None)
        if hit is None or hit.text != result.text:
            return None
        notes = (*hit.notes, *result.notes, HIT.format(age=now - hit.stored))
        return replace(result, notes=notes, images=hit.images, data=hit.value())
