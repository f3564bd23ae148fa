"""The plugin: one hook, which reads the person's own words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline_hookspecs import Context, ContextBlock, Plugin, Turn, hookimpl

from .config import ContextRefsConfig
from .grammar import references

if TYPE_CHECKING:
    from .attaching import Attached

TAG = "attached-context"
"""The element of the turn's context that holds what was attached."""


class ContextRefs(Plugin[ContextRefsConfig]):
    """Attaches what ``@file:…``, ``@folder:…``, ``@diff`` and the like name to the turn."""

    @hookimpl
    async def pre_prompt(self, ctx: Context, turn: Turn) -> ContextBlock | None:
        """Attach what the person's own text refers to.

        ``turn.inbound.text`` is that text alone: words of a voice message and what a channel adds
        are not in it. A forwarded message is somebody else's. In sessions of sub-agents and reviews
        no person speaks.
        """
        text = turn.inbound.text
        if "@" not in text or turn.session.kind != "chat" or turn.inbound.forwarded:
            return None
        found = references(text)
        if not found:
            return None
        from .attaching import attach
        from .found import Sources

        sources = Sources(ctx.paths, self.host.http, self.config)
        attached = await attach(ctx, found, sources, ctx.window())
        for warning in attached.warnings:
            ctx.notify(warning)
        return _block(attached)


def _block(attached: Attached) -> ContextBlock | None:
    """Return one element per reference, named as it was written, after the warnings."""
    if not attached.items and not attached.warnings:
        return None
    warnings = "\n".join(f"Warning: {warning}" for warning in attached.warnings)
    items, origins = tuple(attached.items), attached.origins
    return ContextBlock(TAG, warnings, items, "reference", origins=origins)
