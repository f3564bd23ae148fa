"""A chat's browser context: its cookies, its proxy pass and its sessions' pages."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .chat_scope import ChatScope
from .config import BrowserConfig
from .proxy import GuardedProxy
from .tab import BrowserTab

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page, Request, Route

VIEWPORT = {"width": 1280, "height": 800}
MAX_TABS = 8
"""Sessions of a chat, most of them sub-agents, with an open page."""
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing (RFC 9110, section 9.2.1)."""
CLOSE_TIMEOUT = 5


class ChatContext(ChatScope):
    """A chat's context and pages. ``busy`` counts the running calls that use it."""

    def __init__(self, config: BrowserConfig, proxy: GuardedProxy, folder: Path) -> None:
        super().__init__(config, folder)
        self.busy = 0
        self._proxy = proxy
        self._tabs: OrderedDict[str, BrowserTab] = OrderedDict()

    async def open(self, browser: Browser, cookies: list[Any]) -> None:
        """Create the context. Raises Playwright's ``Error``."""
        self.proxy_pass = self._proxy.admit(self.config.max_megabytes * 1_000_000)
        self.context = await browser.new_context(
            proxy={
                "server": self._proxy.address,
                "username": self.proxy_pass.name,
                "password": self.proxy_pass.password,
            },
            service_workers="block",
            accept_downloads=True,
            viewport=VIEWPORT,  # type: ignore[arg-type]
        )
        if cookies:
            await self.context.add_cookies(cookies)
        await self.context.route("**/*", self._filter_request)

    async def is_responsive(self) -> bool:
        """Return whether the browser answers."""
        with suppress(Exception):
            async with asyncio.timeout(2 * CLOSE_TIMEOUT):
                await self.context.cookies("http://hookline.invalid/")
                return True
        return False

    async def cookies(self) -> list[Any]:
        """Return the cookies, for the chat's next context."""
        with suppress(Exception):
            async with asyncio.timeout(CLOSE_TIMEOUT):
                return list(await self.context.cookies())
        return []

    async def close(self) -> None:
        """Close every page."""
        self.revoke_proxy_pass()
        with suppress(Exception):
            async with asyncio.timeout(CLOSE_TIMEOUT):
                await self.context.close()

    def revoke_proxy_pass(self) -> None:
        """Stop the context's network access."""
        if hasattr(self, "proxy_pass"):
            self._proxy.dismiss(self.proxy_pass)

    def tab(self, session_id: str) -> BrowserTab | None:
        """Return the session's page, or None."""
        return self._tabs.get(session_id)

    async def make_tab(self, session_id: str) -> BrowserTab:
        """Return the session's page; with too many, the least recently used one is closed."""
        tab = self._tabs.get(session_id)
        if tab is None:
            if len(self._tabs) >= MAX_TABS:
                await self.drop_tab(next(iter(self._tabs)))
            tab = self._tabs[session_id] = BrowserTab(self)
        self._tabs.move_to_end(session_id)
        return tab

    async def drop_tab(self, session_id: str) -> None:
        """Close the session's page, if it has one."""
        tab = self._tabs.pop(session_id, None)
        if tab is not None:
            await tab.close()

    def tab_of(self, page: Page | None) -> BrowserTab | None:
        """Return the tab that the page belongs to."""
        return next((tab for tab in self._tabs.values() if page in tab.pages), None)

    async def _filter_request(self, route: Route, request: Request) -> None:
        """Block requests that may change something and were not approved."""
        with suppress(Exception):  # the page may be gone
            tab = None
            if request.method not in SAFE_METHODS:
                with suppress(Exception):
                    tab = self.tab_of(request.frame.page)
                if tab is None or not tab.may_send:
                    if tab is not None:
                        tab.record_held_request(request)
                    await route.abort("blockedbyclient")
                    return
            await route.continue_()
