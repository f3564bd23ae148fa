"""A call of the tools: the session's page is found, the act is done, its outcome is reported."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from hookline_hookspecs import Context, HooklineError, Host, Session, ToolError, ToolOutput

from . import acts, deeds, downloads, snapshot
from .engine import Engine
from .tab import Tab

KIND = "web"
"""The kind under which pages pass the gate ``pre_read``, as those of ``web`` do."""
NO_PAGE = "no page is open; use action open with a url"


class Using:
    """Does what the model calls for."""

    def __init__(self, host: Host, engine: Engine) -> None:
        self._host = host
        self._engine = engine

    def tab(self, ctx: Context) -> Tab | None:
        """Return the session's page, if it has one now."""
        chat = self._engine.known(_key(ctx.session))
        return chat.tab(ctx.session.id) if chat is not None else None

    async def leave(self, session: Session) -> None:
        """Close a session's page."""
        chat = self._engine.known(_key(session))
        if chat is not None:
            await chat.drop_tab(session.id)

    async def act(
        self, ctx: Context, action: str, url: str | None, ref: str | None, text: str | None
    ) -> ToolOutput:
        """Do one action. Raises ``ToolError``, ``Refused``."""
        if action != "open" and self.tab(ctx) is None:
            raise ToolError(NO_PAGE)
        async with self._lent(ctx) as tab:
            tab.begin()
            said: Any = None
            if action in ("submit", "upload"):
                await self._approved(ctx, tab, action, ref, text)
            elif action == "type":
                kept = await acts.type_text(tab, ref, text)
                return ToolOutput(kept, origins=tab.origins())
            elif action == "close":
                if not await acts.close(tab):
                    return ToolOutput("The page is closed.")
            elif action == "screenshot":
                said = await acts.screenshot(tab)
            else:
                await self._plain(tab, action, url, ref, text)
            await tab.settle()
            await downloads.collect(ctx, tab)
            tab.require_well()
            if not tab.pages:
                return await self._passed(ctx, tab, "\n".join(["No page is open.", *tab.told()]))
            report = await tab.report()
            images = (said,) if said is not None else ()
            return await self._passed(ctx, tab, report, images=images)

    async def _plain(
        self, tab: Tab, action: str, url: str | None, ref: str | None, text: str | None
    ) -> None:
        if action == "open":
            await acts.open_url(tab, self._host, url)
        elif action == "click":
            await acts.click(tab, ref)
        elif action == "select":
            await acts.select(tab, ref, text)
        elif action == "press":
            await acts.press(tab, ref, text)
        elif action == "scroll":
            await acts.scroll(tab, ref, text)
        elif action == "back":
            await acts.back(tab)
        elif action == "wait":
            await acts.wait(tab, text)

    async def _approved(
        self, ctx: Context, tab: Tab, action: str, ref: str | None, text: str | None
    ) -> None:
        """Do what a person approved, if that is still what it would be."""
        approved, tab.approved = tab.approved, None
        if action == "submit":
            deed = await deeds.submission(tab, ref)
            _require_same(deed, approved)
            await deeds.submit(tab, ref)
            return
        file = await asyncio.to_thread(deeds.read_file, ctx, text)
        _require_same(await deeds.upload_of(tab, ref, str(text), file), approved)
        await deeds.upload(tab, ref, file)

    async def read(self, ctx: Context, find: str | None, ref: str | None, page: int) -> ToolOutput:
        """Return a part of the page. Raises ``ToolError``, ``Refused``."""
        if self.tab(ctx) is None:
            raise ToolError(NO_PAGE)
        async with self._lent(ctx) as tab:
            found = await tab.nodes()
            if ref is not None:
                found = _below(found, ref)
            if find is not None:
                lines = snapshot.matching(found, find)
                text = "\n".join(lines) or f"nothing on the page holds {find[:80]!r}"
                return await self._passed(ctx, tab, snapshot.bounded(text))
            parts = snapshot.pages(snapshot.texts(found))
            if not 1 <= page <= len(parts):
                raise ToolError(f"there are pages 1 to {len(parts)}")
            head = f"{tab.url[:500]} (page {page} of {len(parts)})"
            return await self._passed(ctx, tab, f"{head}\n{parts[page - 1]}")

    @asynccontextmanager
    async def _lent(self, ctx: Context) -> AsyncIterator[Tab]:
        """Yield the session's tab, alone; what Playwright raises becomes a sentence."""
        from playwright.async_api import Error

        try:
            async with self._engine.lend(_key(ctx.session)) as chat:
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

    async def _passed(
        self, ctx: Context, tab: Tab, text: str, images: tuple[Any, ...] = ()
    ) -> ToolOutput:
        """The text through the gate, with where it came from."""
        origins = tab.origins()
        passed = await ctx.read(text, tab.url or "a web page", KIND)
        return ToolOutput(passed, images=images, origins=origins)


def _key(session: Session) -> str:
    return f"{session.channel}:{session.chat_id}"


def _require_same(deed: deeds.Deed, approved: object) -> None:
    if approved is None:
        raise ToolError("nobody was asked about it, so nothing was sent; call it again")
    if deed != approved:
        raise ToolError(
            "the page changed while the person was asked, so nothing was sent; look at it again"
        )


def _below(found: list[snapshot.Node], ref: str) -> list[snapshot.Node]:
    for start, node in enumerate(found):
        if node.ref == ref:
            rest = found[start + 1 :]
            end = next((n for n, one in enumerate(rest) if one.depth <= node.depth), len(rest))
            return [node, *rest[:end]]
    raise ToolError(f"there is no {ref} on the page (any more); browser_read shows what is there")
