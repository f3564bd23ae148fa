"""The plugin: two hooks, which read the person's own words, and the commands about changes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hookline_hookspecs import (
    Context,
    ContextBlock,
    Conversations,
    Inbound,
    Plugin,
    Turn,
    command,
    hookimpl,
)
from hookline_hookspecs.channels import TERMINAL

from .config import ContextRefsConfig
from .grammar import references

if TYPE_CHECKING:
    from .attachments import AttachedReferences
    from .grammar import Reference
    from .reference_content import ReferenceSources

TAG = "attached-context"
"""The element of the turn's context that holds what was attached."""
MAX_MISSING_NOTICES = 5
"""Missing files of one message that the person gets a notice about."""


class ContextRefs(Plugin[ContextRefsConfig]):
    """Attaches what ``@path``, ``@folder:…``, ``@diff`` and the like name to the turn."""

    @hookimpl
    async def on_message(self, ctx: Context, inbound: Inbound) -> Inbound | None:
        """Attach the pictures of the workspace that the person's own text refers to."""
        if inbound.forwarded or inbound.kind != "message":
            return None
        from .pictures import has_picture_suffix, load_pictures

        named = [
            reference
            for reference in references(inbound.text)
            if has_picture_suffix(reference.value)
        ]
        if not named:
            return None
        found = await _resolve_bare(ctx, named)
        known = {item.path for item in inbound.attachments}
        new = [
            picture
            for picture in await load_pictures(found, ctx.paths)
            if picture.path not in known
        ]
        return replace(inbound, attachments=(*inbound.attachments, *new)) if new else None

    @hookimpl
    async def pre_prompt(self, ctx: Context, turn: Turn) -> ContextBlock | None:
        """Attach what the person's own text refers to.

        ``turn.inbound.text`` is only that text, without the words of a voice message and what a
        channel adds. Forwarded messages and sessions of sub-agents and reviews are not a person's
        own text.
        """
        text = turn.inbound.text
        if "@" not in text or turn.session.kind != "chat" or turn.inbound.forwarded:
            return None
        written = references(text)
        found = await _resolve_bare(ctx, written)
        if len(found) < len(written):
            _report_missing(ctx, written, found)
        if not found:
            return None
        from .attachments import attach
        from .reference_content import ReferenceSources

        pictures = frozenset(item.path for item in turn.inbound.attachments)
        sources = ReferenceSources(ctx.paths, self.host.http, self.config, pictures)
        attached = await attach(ctx, found, sources, ctx.window())
        for warning in attached.warnings:
            ctx.notify(warning)
        if attached.summaries and ctx.channel == TERMINAL:
            ctx.notify(f"Attached: {', '.join(attached.summaries)}")
        return _block(attached)

    @command("/diff", audience="session", category="Conversation")
    async def diff(self, ctx: Context, args: str) -> str:
        """Show the changes in the workspace: /diff [BASE or PATH], /diff checkpoint.

        Without BASE, what differs from the last commit, new files too. /diff checkpoint shows what
        has changed since the last checkpoint.
        """
        from .commands import diff

        return await diff(ctx, args, self._sources(ctx))

    @command("/review", audience="everyone", category="Conversation")
    async def review(self, ctx: Context, args: str) -> str:
        """Have the model review the changes in the workspace: /review [BASE or PATH]."""
        from .commands import review_prompt

        prompt, reason = await review_prompt(args, self._sources(ctx))
        if prompt:
            self.host.services[Conversations].rerun(ctx, prompt)
        return reason

    def _sources(self, ctx: Context) -> ReferenceSources:
        from .reference_content import ReferenceSources

        return ReferenceSources(ctx.paths, self.host.http, self.config)


async def _resolve_bare(ctx: Context, found: list[Reference]) -> list[Reference]:
    """Return the references without bare names that are neither file nor folder."""
    if all(reference.kind != "bare" and not reference.shorter for reference in found):
        return found
    from .bare_names import resolve_bare_names

    return await resolve_bare_names(found, ctx.paths, operator=ctx.operator)


def _report_missing(ctx: Context, written: list[Reference], found: list[Reference]) -> None:
    """Tell the person about what looks like a reference and is none."""
    from .bare_names import missing_files, misspelt_kinds
    from .decoding import shorten

    misspelt = misspelt_kinds(written)
    for raw, kind in misspelt[:MAX_MISSING_NOTICES]:
        ctx.notify(f"{shorten(raw)} is not attached. Did you mean @{kind}:?")
    for name in missing_files(written, found)[:MAX_MISSING_NOTICES]:
        if f"@{name}" not in dict(misspelt):
            ctx.notify(f"There is no file {shorten(name)} in the workspace.")


def _block(attached: AttachedReferences) -> ContextBlock | None:
    """Return one element per reference, named as it was written, after the warnings."""
    if not attached.items and not attached.warnings:
        return None
    warnings = "\n".join(f"Warning: {warning}" for warning in attached.warnings)
    items, origins = tuple(attached.items), attached.origins
    return ContextBlock(TAG, warnings, items, "reference", origins=origins)
