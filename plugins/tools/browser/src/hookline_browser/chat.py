"""A chat's browser context: its cookies, its way through the proxy, its sessions' pages."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .config import BrowserConfig
from .proxy import Proxy
from .scope import Scope
from .tab import Tab

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page, Request, Route

VIEWPORT = {"width": 1280, "height": 800}
MOST_TABS = 8
"""Sessions of a chat (sub-agents, most of them) that have a page at once."""
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing (RFC 9110, section 9.2.1)."""
CLOSE_SECONDS = 5


class Chat(Scope):
    """A chat's context and pages. ``busy`` counts the calls that use it now."""

    def __init__(self, config: BrowserConfig, proxy: Proxy, folder: Path) -> None:
        super().__init__(config, folder)
        self.busy = 0
        self._proxy = proxy
        self._tabs: OrderedDict[str, Tab] = OrderedDict()

    async def open(self, browser: Browser, cookies: list[Any]) -> None:
        """Make the context. Raises Playwright's ``Error``."""
        self.pass_ = self._proxy.admit(self.config.max_megabytes * 1_000_000)
        self.context = await browser.new_context(
            proxy={
                "server": self._proxy.address,
                "username": self.pass_.name,
                "password": self.pass_.password,
            },
            service_workers="block",
            accept_downloads=True,
            viewport=VIEWPORT,  # type: ignore[arg-type]
        )
        if cookies:
            await self.context.add_cookies(cookies)
        await self.context.route("**/*", self._judge)

    async def answers(self) -> bool:
        """Return whether the browser does."""
        with suppress(Exception):
            async with asyncio.timeout(2 * CLOSE_SECONDS):
                await self.context.cookies("http://hookline.invalid/")
                return True
        return False

    async def cookies(self) -> list[Any]:
        """Return the cookies, to be given to the chat's next context."""
        with suppress(Exception):
            async with asyncio.timeout(CLOSE_SECONDS):
                return list(await self.context.cookies())
        return []

    async def close(self) -> None:
        """Close every page."""
        self.leave()
        with suppress(Exception):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self.context.close()

    def leave(self) -> None:
        """Let nothing through the proxy any more."""
        if hasattr(self, "pass_"):
            self._proxy.dismiss(self.pass_)

    def tab(self, session_id: str) -> Tab | None:
        """Return the session's page, or None."""
        return self._tabs.get(session_id)

    async def make_tab(self, session_id: str) -> Tab:
        """Return the session's page; the one that was not used longest makes room."""
        tab = self._tabs.get(session_id)
        if tab is None:
            if len(self._tabs) >= MOST_TABS:
                await self.drop_tab(next(iter(self._tabs)))
            tab = self._tabs[session_id] = Tab(self)
        self._tabs.move_to_end(session_id)
        return tab

    async def drop_tab(self, session_id: str) -> None:
        """Close the session's page, if it has one."""
        tab = self._tabs.pop(session_id, None)
        if tab is not None:
            await tab.close()

    def tab_of(self, page: Page | None) -> Tab | None:
        """Return whose page it is."""
        return next((tab for tab in self._tabs.values() if page in tab.pages), None)

    async def _judge(self, route: Route, request: Request) -> None:
        """Hold back what would change something elsewhere and was not approved."""
        with suppress(Exception):  # the page may be gone
            tab = None
            if request.method not in SAFE:
                with suppress(Exception):
                    tab = self.tab_of(request.frame.page)
                if tab is None or not tab.may_send:
                    if tab is not None:
                        tab.held_back(request)
                    await route.abort("blockedbyclient")
                    return
            await route.continue_()
