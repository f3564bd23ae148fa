"""The plugin: registers the channel, the page's routes, and follows turns."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from hookline_hookspecs import (
    Channel,
    Context,
    Host,
    Job,
    Plugin,
    Route,
    Turn,
    WorkDistribution,
    hookimpl,
)
from hookline_hookspecs.web import Identity, Problem, Renderer
from pydantic import BaseModel, Field

if TYPE_CHECKING:
    from .api import Api
    from .front import Front
    from .page import Pages


CHANNEL = "web"


class WebUiConfig(BaseModel):
    """Settings of the page; the address is that of ``web-server``."""

    push_contact: str = Field(
        default="",
        pattern="^(|mailto:.+|https://.+)$",
        description="Whom push services may contact: mailto:… or https://…; some require it.",
    )


class WebUi(Plugin[WebUiConfig]):
    """The web page for chatting with the agent."""

    requires: ClassVar[tuple[str, ...]] = ("web-server",)
    _pages: Pages | None = None

    _api: Api | None = None

    @property
    def pages(self) -> Pages:
        """The parts of the page, created and connected at first use, by a process with the page."""
        if self._pages is None:
            from .page import Pages

            self._pages = Pages(self.host, self.config.push_contact)
            self._pages.listener.connect()
            self.host.signals.connect("end_of_turn", self._titled)
        return self._pages

    @cached_property
    def front(self) -> Front:
        """Renders views as pages."""
        from .front import Front

        return Front(self.host, self._sees)

    async def _sees(self, who: Identity, session: str) -> bool:
        try:
            return bool(await self.pages.reader.row(who, session))
        except Problem:
            return False

    @hookimpl
    def register_channels(self, register: Callable[[Channel], None]) -> None:
        """Register the channel ``web``; the gateway starts it."""
        from .channel import WebChannel

        register(WebChannel(self.host, lambda: self.pages))

    @hookimpl
    def register_routes(self, register: Callable[[Route], None]) -> None:
        """Register the chat page, the inbox and ``/api``."""
        from .api import Api
        from .inbox import Inbox

        self.front.register(register)
        Inbox(self.front, lambda: self.pages).register(register)
        self._api = self._api or Api(self.pages)
        self._api.register(register)

    @hookimpl
    def register_jobs(self, register: Callable[[Job], None]) -> None:
        """Register the job that deletes unused uploads after a day."""
        register(Job("unused files", self._prune, every=6 * 3600.0))

    async def _prune(self) -> None:
        await self.pages.prune()

    @hookimpl
    def setup(self, host: Host) -> None:
        """Provide the renderer of views."""
        host.services.provide(Renderer, self.front)

    @hookimpl
    def start_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Follow a turn of the page before its channel has started, as after a crash.

        If several processes share the work, follow turns of all network channels.
        """
        channel = turn.session.channel
        if channel == CHANNEL or self._is_shared(channel):
            _ = self.pages

    def _is_shared(self, channel: str) -> bool:
        if self._pages is not None or not self.host.services[WorkDistribution].is_shared:
            return False
        return any(one.network for one in self.host.channels() if one.name == channel)

    @hookimpl(tryfirst=True)
    async def end_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Publish the end of a turn, before slower plugins run."""
        if self._pages is not None:
            await self._pages.ended(turn)

    async def _titled(self, turn: Turn, ctx: Context | None = None) -> None:
        """Publish the title, which a plugin may have set after the turn."""
        if turn.session.kind == "chat" and self._pages is not None:
            here = (turn.session.channel, turn.session.chat_id)
            await self._pages.tell_title(turn.session.id, here)
