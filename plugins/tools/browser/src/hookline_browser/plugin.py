"""The plugin: two tools, what is asked before something leaves, and the doctor's look."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Literal

from hookline_hookspecs import (
    Ask,
    Check,
    Context,
    Effect,
    HooklineError,
    Host,
    Plugin,
    Session,
    Tool,
    ToolCall,
    ToolOutput,
    hookimpl,
)

from . import deeds
from .config import BrowserConfig
from .doctor import look
from .engine import Engine
from .tab import Tab
from .using import Using

Action = Literal[
    "open",
    "click",
    "type",
    "select",
    "press",
    "submit",
    "upload",
    "scroll",
    "back",
    "wait",
    "screenshot",
    "close",
]
ASKS = ("submit", "upload")
JUDGE_SECONDS = 4.0
"""A page has this long to be described; core ends the hook after five."""


class Browser(Plugin[BrowserConfig]):
    """The agent uses web pages in a real browser."""

    def __init__(self, config: BrowserConfig, host: Host) -> None:
        super().__init__(config, host)
        self._engine: Engine | None = None
        self._using: Using | None = None

    @property
    def using(self) -> Using:
        """What does the acts; made at the first call."""
        if self._using is None:
            self._engine = Engine(self.host, self.config)
            self._using = Using(self.host, self._engine)
        return self._using

    @hookimpl
    async def teardown(self, host: Host) -> None:
        """End the browser."""
        if self._engine is not None:
            await self._engine.stop()

    @hookimpl
    async def end_of_session(self, ctx: Context, session: Session) -> None:
        """Close the session's page; the chat's cookies stay."""
        if self._using is not None:
            await self._using.leave(session)

    @hookimpl
    def register_tools(self, register: Callable[[Tool], None]) -> None:
        """Register ``browser`` and ``browser_read``."""
        register(Tool.from_function(self.browser, origin="outside", effects=self._effects))
        register(Tool.from_function(self.browser_read, read_only=True, origin="outside"))

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """Say whether there is a browser."""
        register(Check("browser", lambda: look(self.config)))

    # The tools

    async def browser(
        self,
        ctx: Context,
        action: Action,
        url: str | None = None,
        ref: str | None = None,
        text: str | None = None,
    ) -> ToolOutput:
        """Use a web page in a browser. Results list what can be acted on, as e5 link "Home"; later
        only changes. type keeps text back; submit gives it to the page and presses ref, once the
        person says yes.

        Args:
            url: for open
            ref: the element, such as e5
            text: to type; an option; a key; a file to upload; up, down; words to wait for
        """
        return await self.using.act(ctx, action, url, ref, text)

    async def browser_read(
        self, ctx: Context, find: str | None = None, ref: str | None = None, page: int = 1
    ) -> ToolOutput:
        """Read the open page: its text in pages; lines with the words find; what is below ref."""
        return await self.using.read(ctx, find, ref, page)

    # What is asked

    def _effects(self, ctx: Context, call: ToolCall) -> Sequence[Effect]:
        """What leaves is sent to the page; what is clicked was held by it."""
        action = call.arguments.get("action")
        if action == "open":
            return [Effect("network", str(call.arguments.get("url", "")))]
        if action not in ASKS:
            return []
        tab = self._tab(ctx)
        urls = dict.fromkeys([tab.url, *(one.url for one in tab.typed.values())]) if tab else {}
        sends = [Effect("send", url) for url in urls if url] or [Effect("send")]
        path = call.arguments.get("text") if action == "upload" else None
        return [*([Effect("read", str(path))] if path else []), *sends]

    def _tab(self, ctx: Context) -> Tab | None:
        return self._using.tab(ctx) if self._using is not None else None

    @hookimpl
    async def pre_tool(self, ctx: Context, call: ToolCall) -> Ask | None:
        """Ask about what would be submitted or uploaded, literally."""
        action = call.arguments.get("action")
        if ctx.tool is None or ctx.tool.plugin != self.host.plugin or action not in ASKS:
            return None
        tab = self._tab(ctx)
        if tab is None:
            return None  # the call itself says that no page is open
        ref, text = call.arguments.get("ref"), call.arguments.get("text")
        try:
            async with asyncio.timeout(JUDGE_SECONDS):
                async with tab.lock:
                    deed = await self._deed(ctx, tab, action, ref, text)
        except (HooklineError, TimeoutError, PermissionError):
            tab.approved = None  # so that the call fails with its own sentence, having done nothing
            return None
        tab.approved = deed
        what = "submits" if action == "submit" else "uploads"
        return Ask(f"it {what} something on a web page", deed.preview, once=True)

    async def _deed(
        self, ctx: Context, tab: Tab, action: str, ref: str | None, text: str | None
    ) -> deeds.Deed:
        if action == "submit":
            return await deeds.submission(tab, ref)
        file = await asyncio.to_thread(deeds.read_file, ctx, text)
        return await deeds.upload_of(tab, ref, str(text), file)
