"""The plugin: two tools, and the approval of what they send to pages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Annotated, Literal

from hookline_hookspecs import (
    Ask,
    Check,
    Content,
    Context,
    Effect,
    HooklineError,
    Host,
    Plugin,
    Recipient,
    Session,
    Tool,
    ToolCall,
    ToolOutput,
    hookimpl,
)

from . import outgoing_actions
from .config import BrowserConfig
from .doctor_checks import check_browser
from .engine import BrowserEngine
from .tab import BrowserTab
from .tool_calls import BrowserCalls

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
APPROVED_ACTIONS = ("submit", "upload")
PREVIEW_TIMEOUT = 4.0
"""Seconds to describe an action for approval; core cancels the hook after five."""


class Browser(Plugin[BrowserConfig]):
    """The agent uses web pages in a real browser."""

    def __init__(self, config: BrowserConfig, host: Host) -> None:
        super().__init__(config, host)
        self._engine: BrowserEngine | None = None
        self._calls: BrowserCalls | None = None

    @property
    def calls(self) -> BrowserCalls:
        """Handles the calls; created at the first one."""
        if self._calls is None:
            self._engine = BrowserEngine(self.host, self.config)
            self._calls = BrowserCalls(self.host, self._engine)
        return self._calls

    @hookimpl
    async def teardown(self, host: Host) -> None:
        """Stop the browser."""
        if self._engine is not None:
            await self._engine.stop()

    @hookimpl
    async def end_of_session(self, ctx: Context, session: Session) -> None:
        """Close the session's page; the chat's cookies stay."""
        if self._calls is not None:
            await self._calls.close_session(session)

    @hookimpl
    def register_tools(self, register: Callable[[Tool], None]) -> None:
        """Register ``browser`` and ``browser_read``."""
        register(Tool.from_function(self.browser, origin="outside", effects=self._effects))
        register(Tool.from_function(self.browser_read, read_only=True, origin="outside"))

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """Register the check of the browser."""
        register(Check("browser", lambda: check_browser(self.config)))

    async def browser(
        self,
        ctx: Context,
        action: Action,
        url: Annotated[str | None, Recipient()] = None,
        ref: str | None = None,
        text: Annotated[str | None, Content()] = None,
    ) -> ToolOutput:
        """Use a web page in a browser. Results list what can be acted on, as e5 link "Home"; later
        only changes. type keeps text back; submit gives it to the page and presses ref, once the
        person says yes.

        Args:
            url: for open
            ref: the element, such as e5
            text: to type; an option; a key; a file to upload; up, down; words to wait for
        """
        return await self.calls.act(ctx, action, url, ref, text)

    async def browser_read(
        self, ctx: Context, find: str | None = None, ref: str | None = None, page: int = 1
    ) -> ToolOutput:
        """Read the open page: its text in pages; lines with the words find; what is below ref."""
        return await self.calls.read(ctx, find, ref, page)

    def _effects(self, ctx: Context, call: ToolCall) -> Sequence[Effect]:
        """Submissions and uploads send data to the page; a click does not."""
        action = call.arguments.get("action")
        if action == "open":
            return [Effect("network", str(call.arguments.get("url", "")))]
        if action not in APPROVED_ACTIONS:
            return []
        tab = self._tab(ctx)
        urls = dict.fromkeys([tab.url, *(typed.url for typed in tab.typed.values())]) if tab else {}
        sends = [Effect("send", url) for url in urls if url] or [Effect("send")]
        path = call.arguments.get("text") if action == "upload" else None
        return [*([Effect("read", str(path))] if path else []), *sends]

    def _tab(self, ctx: Context) -> BrowserTab | None:
        return self._calls.tab(ctx) if self._calls is not None else None

    @hookimpl
    async def pre_tool(self, ctx: Context, call: ToolCall) -> Ask | None:
        """Ask for approval of the literal data that would be submitted or uploaded."""
        action = call.arguments.get("action")
        if (
            ctx.tool is None
            or ctx.tool.plugin != self.host.plugin
            or action not in APPROVED_ACTIONS
        ):
            return None
        tab = self._tab(ctx)
        if tab is None:
            return None  # the call reports that no page is open
        ref, text = call.arguments.get("ref"), call.arguments.get("text")
        try:
            async with asyncio.timeout(PREVIEW_TIMEOUT):
                async with tab.lock:
                    outgoing = await self._describe(ctx, tab, action, ref, text)
        except (HooklineError, TimeoutError, PermissionError):
            tab.approved = None  # the call then fails without sending anything
            return None
        tab.approved = outgoing
        what = "submits" if action == "submit" else "uploads"
        return Ask(f"it {what} something on a web page", outgoing.preview, once=True)

    async def _describe(
        self, ctx: Context, tab: BrowserTab, action: str, ref: str | None, text: str | None
    ) -> outgoing_actions.OutgoingAction:
        if action == "submit":
            return await outgoing_actions.describe_submission(tab, ref)
        file = await asyncio.to_thread(outgoing_actions.read_file, ctx, text)
        return await outgoing_actions.describe_upload(tab, ref, str(text), file)
