"""The plugin: hints of the folders that a call touched become notes on its result."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from hookline_hookspecs import (
    Context,
    Host,
    Paths,
    Plugin,
    Refused,
    ToolResult,
    hookimpl,
    merge_origins,
)
from hookline_hookspecs.file_origins import origins_of

from .config import SubdirHintsConfig
from .hints import Hint, find_hint
from .sent_hints import SentHints
from .touched_paths import touched_paths

KIND = "hint"
"""The kind of hints for the guard ``pre_read``."""


class SubdirHints(Plugin[SubdirHintsConfig]):
    """Adds a folder's ``AGENTS.md`` to the result when a tool first touches the folder."""

    @hookimpl
    def setup(self, host: Host) -> None:
        """Listen to compactions."""
        host.signals.connect("compacted", self._compacted)

    @hookimpl
    async def post_tool(self, ctx: Context, result: ToolResult) -> ToolResult | None:
        """Add the hints that are not in the session's context yet."""
        if not result.ok and result.text.startswith("Denied: "):
            return None  # a denied call touches nothing
        paths = touched_paths(result.call.arguments)
        if not paths:
            return None
        hints = await asyncio.to_thread(self._find, ctx.paths, paths)
        if not hints:
            return None
        sent = ctx.stash.of(SentHints)
        async with sent.lock:
            notes = await self._notes(ctx, [h for h in hints if not sent.contains(ctx, h.key)])
            for key in notes:
                sent.add(key)
        if not notes:
            return None
        files = [hint.file for hint in hints if hint.key in notes]
        origins = merge_origins(result.origins, await origins_of(ctx.host, files))
        return replace(result, notes=(*result.notes, *notes.values()), origins=origins)

    def _find(self, paths: Paths, touched: Sequence[str]) -> list[Hint]:
        found = (find_hint(paths, path, self.config.levels) for path in touched)
        return list({hint.name: hint for hint in found if hint is not None}.values())

    async def _notes(self, ctx: Context, hints: Sequence[Hint]) -> dict[str, str]:
        """Return the notes by the hints' keys, within the limit of one result. A hint that does not
        fit after the first one is added when its folder is touched again.
        """
        notes: dict[str, str] = {}
        left = self.config.max_chars
        for hint in hints:
            if notes and len(hint.text) > left:
                continue
            try:
                text = await ctx.read(hint.cut(hint.text, left), hint.name, KIND)
                text = hint.cut(text.strip(), left)
            except Refused as error:
                text = f"[{hint.name} is blocked: {' '.join(str(error).split())}]"
            if text:
                notes[hint.key] = hint.note(text)
            left -= len(text)
        return notes

    def _compacted(self, event: object, ctx: Context | None = None) -> None:
        if ctx is not None:
            ctx.stash.of(SentHints).clear()
