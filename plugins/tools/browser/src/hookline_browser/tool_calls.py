"""Handles a call of the tools: finds the session's page, acts on it and reports the result."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from hookline_hookspecs import Context, HooklineError, Host, Session, ToolError, ToolOutput

from . import actions, downloads, outgoing_actions, snapshot
from .engine import BrowserEngine
from .tab import BrowserTab

READ_KIND = "web"
"""The kind of text, for ``pre_read``; the plugin ``web`` uses the same."""
NO_PAGE = "no page is open; use action open with a url"


class BrowserCalls:
    """Performs the calls of ``browser`` and ``browser_read``."""

    def __init__(self, host: Host, engine: BrowserEngine) -> None:
        self._host = host
        self._engine = engine

    def tab(self, ctx: Context) -> BrowserTab | None:
        """Return the session's page, if it has one."""
        chat = self._engine.open_chat(_key(ctx.session))
        return chat.tab(ctx.session.id) if chat is not None else None

    async def close_session(self, session: Session) -> None:
        """Close a session's page."""
        chat = self._engine.open_chat(_key(session))
        if chat is not None:
            await chat.drop_tab(session.id)

    async def act(
        self, ctx: Context, action: str, url: str | None, ref: str | None, text: str | None
    ) -> ToolOutput:
        """Perform one action. Raises ``ToolError``, ``Refused``."""
        if action != "open" and self.tab(ctx) is None:
            raise ToolError(NO_PAGE)
        async with self._locked_tab(ctx) as tab:
            tab.begin()
            image: Any = None
            if action in ("submit", "upload"):
                await self._perform_approved(ctx, tab, action, ref, text)
            elif action == "type":
                kept = await actions.type_text(tab, ref, text)
                return ToolOutput(kept, origins=tab.origins())
            elif action == "close":
                if not await actions.close(tab):
                    return ToolOutput("The page is closed.")
            elif action == "screenshot":
                image = await actions.screenshot(tab)
            else:
                await self._perform(tab, action, url, ref, text)
            await tab.settle()
            await downloads.save_downloads(ctx, tab)
            tab.require_usable()
            if not tab.pages:
                return await self._output(
                    ctx, tab, "\n".join(["No page is open.", *tab.take_notes()])
                )
            report = await tab.report()
            images = (image,) if image is not None else ()
            return await self._output(ctx, tab, report, images=images)

    async def _perform(
        self, tab: BrowserTab, action: str, url: str | None, ref: str | None, text: str | None
    ) -> None:
        if action == "open":
            await actions.open_url(tab, self._host, url)
        elif action == "click":
            await actions.click(tab, ref)
        elif action == "select":
            await actions.select(tab, ref, text)
        elif action == "press":
            await actions.press(tab, ref, text)
        elif action == "scroll":
            await actions.scroll(tab, ref, text)
        elif action == "back":
            await actions.back(tab)
        elif action == "wait":
            await actions.wait(tab, text)

    async def _perform_approved(
        self, ctx: Context, tab: BrowserTab, action: str, ref: str | None, text: str | None
    ) -> None:
        """Perform an approved action, if its description has not changed."""
        approved, tab.approved = tab.approved, None
        if action == "submit":
            current = await outgoing_actions.describe_submission(tab, ref)
            _require_same(current, approved)
            await outgoing_actions.submit(tab, ref)
            return
        file = await asyncio.to_thread(outgoing_actions.read_file, ctx, text)
        _require_same(await outgoing_actions.describe_upload(tab, ref, str(text), file), approved)
        await outgoing_actions.upload(tab, ref, file)

    async def read(self, ctx: Context, find: str | None, ref: str | None, page: int) -> ToolOutput:
        """Return a part of the page. Raises ``ToolError``, ``Refused``."""
        if self.tab(ctx) is None:
            raise ToolError(NO_PAGE)
        async with self._locked_tab(ctx) as tab:
            found = await tab.nodes()
            if ref is not None:
                found = _subtree(found, ref)
            if find is not None:
                lines = snapshot.find_words(found, find)
                text = "\n".join(lines) or f"nothing on the page matches {find[:80]!r}"
                return await self._output(ctx, tab, snapshot.cut_to_limit(text))
            parts = snapshot.paginate(snapshot.page_text(found))
            if not 1 <= page <= len(parts):
                raise ToolError(f"there are pages 1 to {len(parts)}")
            head = f"{tab.url[:500]} (page {page} of {len(parts)})"
            return await self._output(ctx, tab, f"{head}\n{parts[page - 1]}")

    @asynccontextmanager
    async def _locked_tab(self, ctx: Context) -> AsyncIterator[BrowserTab]:
        """Yield the session's tab, locked; errors of Playwright become ``ToolError``."""
        from playwright.async_api import Error

        try:
            async with self._engine.use_chat(_key(ctx.session)) as chat:
                tab = await chat.make_tab(ctx.session.id)
                async with tab.lock:
                    yield tab
        except HooklineError:
            raise
        except Error as error:
            if not self._engine.is_up:
                raise ToolError("the browser ended meanwhile; open the page again") from None
            reason = (str(error).strip().splitlines() or ["it gave no reason"])[0][:200]
            raise ToolError(f"the browser could not do that: {reason}") from None

    async def _output(
        self, ctx: Context, tab: BrowserTab, text: str, images: tuple[Any, ...] = ()
    ) -> ToolOutput:
        """The result with its origins, after ``pre_read``."""
        origins = tab.origins()
        passed = await ctx.read(text, tab.url or "a web page", READ_KIND)
        return ToolOutput(passed, images=images, origins=origins)


def _key(session: Session) -> str:
    return f"{session.channel}:{session.chat_id}"


def _require_same(current: outgoing_actions.OutgoingAction, approved: object) -> None:
    if approved is None:
        raise ToolError("no one was asked, so nothing was sent; call it again")
    if current != approved:
        raise ToolError(
            "the page changed while the person was asked, so nothing was sent; look at it again"
        )


def _subtree(found: list[snapshot.SnapshotNode], ref: str) -> list[snapshot.SnapshotNode]:
    for start, node in enumerate(found):
        if node.ref == ref:
            rest = found[start + 1 :]
            end = next((n for n, one in enumerate(rest) if one.depth <= node.depth), len(rest))
            return [node, *rest[:end]]
    raise ToolError(f"there is no {ref} on the page (any more); browser_read shows what is there")
