"""One Chromium for all chats: started at the first call, ended when nobody has called for a while.

Each chat has a browser context of its own, so that cookies stay with the chat; they outlive the
browser's rest, not the process.
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

from .chat import Chat
from .config import BrowserConfig
from .programs import ARGUMENTS, INSTALL, NAMES, RunFolder, environment, find, is_root
from .proxy import Proxy

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.async_api import Browser

START_SECONDS = 60
CLOSE_SECONDS = 5
MOST_CHATS = 16
"""Chats that have a context at once; the one that has been quiet longest makes room."""
REMEMBERED = 100
"""Chats whose cookies are remembered."""
LOOK_EVERY = 15.0
_starting = asyncio.Lock()
"""Held while the driver starts, because its variables are the process's."""


class Engine:
    """Starts, lends and ends the browser."""

    folder: Path

    def __init__(self, host: Host, config: BrowserConfig) -> None:
        self._host = host
        self._config = config
        self._lock = asyncio.Lock()
        self._driver: Any = None
        self._browser: Browser | None = None
        self._proxy: Proxy | None = None
        self._run = RunFolder(host.storage)
        self._chats: OrderedDict[str, Chat] = OrderedDict()
        self._cookies: OrderedDict[str, list[Any]] = OrderedDict()
        self._busy = 0
        self._used = time.monotonic()
        self._watch: asyncio.Task[Any] | None = None

    @property
    def is_up(self) -> bool:
        """True while the browser runs."""
        return self._browser is not None and self._browser.is_connected()

    def known(self, key: str) -> Chat | None:
        """Return the chat if it has a context now."""
        return self._chats.get(key) if self.is_up else None

    @asynccontextmanager
    async def lend(self, key: str) -> AsyncIterator[Chat]:
        """Yield the chat's context, starting what is not there; it is not closed meanwhile."""
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
        """End the browser, its driver and the proxy."""
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        async with self._lock:
            await self._end()

    async def _chat(self, key: str) -> Chat:
        if not self.is_up or not await self._answers():
            await self._end()
            await self._start()
        chat = self._chats.get(key)
        if chat is None:
            idle = [name for name, one in self._chats.items() if not one.busy]
            if len(self._chats) >= MOST_CHATS and idle:
                await self._part(idle[0])
            assert self._browser is not None
            assert self._proxy is not None
            chat = Chat(self._config, self._proxy, self.folder)
            await chat.open(self._browser, self._cookies.pop(key, []))
            self._chats[key] = chat
        self._chats.move_to_end(key)
        return chat

    async def _answers(self) -> bool:
        """False if the driver or the browser is there no more; of the first nobody tells."""
        chat = next(iter(self._chats.values()), None)
        return chat is None or await chat.answers()

    async def _start(self) -> None:
        program = find(self._config.executable)
        if program is None:
            wanted = self._config.executable or ", ".join(NAMES)
            raise ToolError(f"there is no Chromium ({wanted}) on PATH; {INSTALL}")
        if is_root() and self._config.sandbox == "always":
            raise ToolError(
                "the browser was not started: Hookline runs as root, where Chromium has no "
                "sandbox, and plugins.browser.sandbox is `always`; run Hookline as another user"
            )
        from playwright.async_api import Error, async_playwright

        self.folder = await asyncio.to_thread(self._run.make)
        self._proxy = Proxy(self._host.http)
        await self._proxy.start()
        try:
            async with _starting, asyncio.timeout(START_SECONDS):
                with _temporary(self.folder / "tmp"):
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
                timeout=START_SECONDS * 1_000,
            )
        except (Error, OSError, TimeoutError) as error:
            await self._end()
            reason = (str(error).strip().splitlines() or ["it took too long"])[0][:300]
            if "has been closed" in reason:
                reason = f"{program} ended at once"
            reason = reason.removeprefix("BrowserType.launch: ")
            told = "`hookline doctor` looks at the browser"
            raise ToolError(f"the browser was not started: {reason}; {told}") from None
        except BaseException:
            await self._end()
            raise
        if self._watch is None:
            self._watch = self._host.spawn(self._rest(), "rest")

    async def _rest(self) -> None:
        """Close the browser once nobody has called for a while."""
        idle = self._config.idle_minutes * 60
        while True:
            await asyncio.sleep(min(LOOK_EVERY, idle / 4))
            if self._busy or time.monotonic() - self._used < idle:
                continue
            async with self._lock:
                if not self._busy and self._driver is not None:
                    for key in list(self._chats):
                        await self._part(key)
                    await self._end()

    async def _part(self, key: str) -> None:
        """Close a chat's context and remember its cookies."""
        chat = self._chats.pop(key)
        cookies = await chat.cookies()
        await chat.close()
        if cookies:
            self._cookies[key] = cookies
            while len(self._cookies) > REMEMBERED:
                self._cookies.popitem(last=False)

    async def _end(self) -> None:
        for chat in self._chats.values():
            chat.leave()
        self._chats.clear()
        browser, self._browser = self._browser, None
        driver, self._driver = self._driver, None
        proxy, self._proxy = self._proxy, None
        if browser is not None:
            with suppress(Exception):
                async with asyncio.timeout(CLOSE_SECONDS):
                    await browser.close()
        stopping = asyncio.ensure_future(driver.stop()) if driver is not None else None
        if stopping is not None:
            await asyncio.wait({stopping}, timeout=CLOSE_SECONDS)
        if proxy is not None:
            await proxy.stop()
            # What has not ended by itself is killed with its folder.
            await asyncio.to_thread(self._run.remove)
        if stopping is not None:
            await asyncio.wait({stopping}, timeout=CLOSE_SECONDS)
            if not stopping.cancel():
                stopping.exception()


@contextmanager
def _temporary(folder: Path) -> Iterator[None]:
    """Let what is started meanwhile put its temporary files into ``folder``."""
    before = os.environ.get("TMPDIR")
    os.environ["TMPDIR"] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ["TMPDIR"]
        else:
            os.environ["TMPDIR"] = before
