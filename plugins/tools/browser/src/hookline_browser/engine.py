"""One Chromium for all chats: started at the first call, closed when idle.

Each chat has its own browser context, so that cookies stay with the chat. While the browser is
closed, cookies are kept in memory, until the process ends.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import Host, ToolError

from .chat_context import ChatContext
from .chromium import (
    ARGUMENTS,
    INSTALL,
    PROGRAM_NAMES,
    RunFolder,
    environment,
    find_program,
    is_root,
)
from .config import BrowserConfig
from .proxy import GuardedProxy

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.async_api import Browser

START_TIMEOUT = 60
CLOSE_TIMEOUT = 5
MAX_CHATS = 16
"""Chats with an open context; with more, the least recently used one is closed."""
MAX_SAVED_COOKIES = 100
"""Chats whose cookies are kept."""
IDLE_CHECK_INTERVAL = 15.0
_starting = asyncio.Lock()
"""Held while the driver starts, because that changes the process's environment."""


class BrowserEngine:
    """Starts, shares and stops the browser."""

    folder: Path

    def __init__(self, host: Host, config: BrowserConfig) -> None:
        self._host = host
        self._config = config
        self._lock = asyncio.Lock()
        self._driver: Any = None
        self._browser: Browser | None = None
        self._proxy: GuardedProxy | None = None
        self._run_folder = RunFolder(host.storage)
        self._chats: OrderedDict[str, ChatContext] = OrderedDict()
        self._cookies: OrderedDict[str, list[Any]] = OrderedDict()
        self._busy = 0
        self._used = time.monotonic()
        self._idle_watch: asyncio.Task[Any] | None = None

    @property
    def is_up(self) -> bool:
        """Whether the browser is running."""
        return self._browser is not None and self._browser.is_connected()

    def open_chat(self, key: str) -> ChatContext | None:
        """Return the chat if it has an open context."""
        return self._chats.get(key) if self.is_up else None

    @asynccontextmanager
    async def use_chat(self, key: str) -> AsyncIterator[ChatContext]:
        """Yield the chat's context, opened if necessary and kept open meanwhile."""
        self._busy += 1
        try:
            async with self._lock:
                chat = await self._chat(key)
                chat.busy += 1
            try:
                yield chat
            finally:
                chat.busy -= 1
        finally:
            self._busy -= 1
            self._used = time.monotonic()

    async def stop(self) -> None:
        """Stop the browser, its driver and the proxy."""
        if self._idle_watch is not None:
            self._idle_watch.cancel()
            self._idle_watch = None
        async with self._lock:
            await self._shut_down()

    async def _chat(self, key: str) -> ChatContext:
        if not self.is_up or not await self._is_responsive():
            await self._shut_down()
            await self._start()
        chat = self._chats.get(key)
        if chat is None:
            idle = [name for name, one in self._chats.items() if not one.busy]
            if len(self._chats) >= MAX_CHATS and idle:
                await self._close_chat(idle[0])
            assert self._browser is not None
            assert self._proxy is not None
            chat = ChatContext(self._config, self._proxy, self.folder)
            await chat.open(self._browser, self._cookies.pop(key, []))
            self._chats[key] = chat
        self._chats.move_to_end(key)
        return chat

    async def _is_responsive(self) -> bool:
        """Whether driver and browser answer; the end of the driver is not signalled."""
        chat = next(iter(self._chats.values()), None)
        return chat is None or await chat.is_responsive()

    async def _start(self) -> None:
        program = find_program(self._config.executable)
        if program is None:
            names = self._config.executable or ", ".join(PROGRAM_NAMES)
            raise ToolError(f"no Chromium ({names}) on PATH; {INSTALL}")
        if is_root() and self._config.sandbox == "always":
            raise ToolError(
                "the browser was not started: Hookline runs as root, where Chromium has no "
                "sandbox, and plugins.browser.sandbox is `always`; run Hookline as another user"
            )
        from playwright.async_api import Error, async_playwright

        self.folder = await asyncio.to_thread(self._run_folder.make)
        self._proxy = GuardedProxy(self._host.http)
        await self._proxy.start()
        try:
            async with _starting, asyncio.timeout(START_TIMEOUT):
                with _temporary_folder(self.folder / "tmp"):
                    self._driver = await async_playwright().start()
            self._browser = await self._driver.chromium.launch(
                executable_path=program,
                args=list(ARGUMENTS),
                env=environment(self.folder, os.environ),
                proxy={"server": self._proxy.address},
                chromium_sandbox=not is_root(),
                downloads_path=self.folder / "downloads",
                handle_sigint=False,
                handle_sigterm=False,
                handle_sighup=False,
                timeout=START_TIMEOUT * 1_000,
            )
        except (Error, OSError, TimeoutError) as error:
            await self._shut_down()
            reason = (str(error).strip().splitlines() or ["it took too long"])[0][:300]
            if "has been closed" in reason:
                reason = f"{program} ended at once"
            reason = reason.removeprefix("BrowserType.launch: ")
            raise ToolError(
                f"the browser was not started: {reason}; run `hookline doctor`"
            ) from None
        except BaseException:
            await self._shut_down()
            raise
        if self._idle_watch is None:
            self._idle_watch = self._host.spawn(self._close_when_idle(), "rest")

    async def _close_when_idle(self) -> None:
        """Close the browser after the configured idle time."""
        idle = self._config.idle_minutes * 60
        while True:
            await asyncio.sleep(min(IDLE_CHECK_INTERVAL, idle / 4))
            if self._busy or time.monotonic() - self._used < idle:
                continue
            async with self._lock:
                if not self._busy and self._driver is not None:
                    for key in list(self._chats):
                        await self._close_chat(key)
                    await self._shut_down()

    async def _close_chat(self, key: str) -> None:
        """Close a chat's context and keep its cookies."""
        chat = self._chats.pop(key)
        cookies = await chat.cookies()
        await chat.close()
        if cookies:
            self._cookies[key] = cookies
            while len(self._cookies) > MAX_SAVED_COOKIES:
                self._cookies.popitem(last=False)

    async def _shut_down(self) -> None:
        for chat in self._chats.values():
            chat.revoke_proxy_pass()
        self._chats.clear()
        browser, self._browser = self._browser, None
        driver, self._driver = self._driver, None
        proxy, self._proxy = self._proxy, None
        if browser is not None:
            with suppress(Exception):
                async with asyncio.timeout(CLOSE_TIMEOUT):
                    await browser.close()
        stopping = asyncio.ensure_future(driver.stop()) if driver is not None else None
        if stopping is not None:
            await asyncio.wait({stopping}, timeout=CLOSE_TIMEOUT)
        if proxy is not None:
            await proxy.stop()
            # Kills what has not ended by itself.
            await asyncio.to_thread(self._run_folder.remove)
        if stopping is not None:
            await asyncio.wait({stopping}, timeout=CLOSE_TIMEOUT)
            if not stopping.cancel():
                stopping.exception()


@contextmanager
def _temporary_folder(folder: Path) -> Iterator[None]:
    """Set ``TMPDIR`` to ``folder`` for processes that are started meanwhile."""
    before = os.environ.get("TMPDIR")
    os.environ["TMPDIR"] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ["TMPDIR"]
        else:
            os.environ["TMPDIR"] = before
