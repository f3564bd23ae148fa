"""The plugin: brings the channel, the requests of the page, and what hears turns."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from hookline_hookspecs import Channel, Context, Host, Job, Plugin, Question, Route, Turn, hookimpl
from hookline_webkit import Renderer
from pydantic import BaseModel

if TYPE_CHECKING:
    from .front import Front
    from .page import Pages


class WebUiConfig(BaseModel):
    """There is nothing to set; the listener is ``web-server``'s."""


class WebUi(Plugin[WebUiConfig]):
    """The page in which people talk to the agent."""

    _pages: Pages | None = None

    @property
    def pages(self) -> Pages:
        """What the page is made of."""
        if self._pages is None:
            from .page import Pages

            self._pages = Pages(self.host)
        return self._pages

    @cached_property
    def front(self) -> Front:
        """What makes pages of views."""
        from .front import Front

        return Front(self.host)

    @hookimpl
    def register_channels(self, register: Callable[[Channel], None]) -> None:
        """The channel ``web``; the gateway starts it."""
        register(self.pages.channel)

    @hookimpl
    def register_routes(self, register: Callable[[Route], None]) -> None:
        """The chat's page and ``/api``."""
        from .api import Api

        self.front.register(register)
        Api(self.pages).register(register)

    @hookimpl
    def register_jobs(self, register: Callable[[Job], None]) -> None:
        """Uploads that no message came with are deleted after a day."""
        register(Job("unused files", self.pages.files.prune, every=6 * 3600.0))

    @hookimpl
    def setup(self, host: Host) -> None:
        """Hear what happens in turns."""
        self.pages.listener.connect()
        host.services.provide(Renderer, self.front)
        host.signals.connect("end_of_turn", self._titled)

    @hookimpl
    async def on_question(self, ctx: Context, question: Question) -> str | None:
        """Put an approval to the person whose chat on the page it is."""
        return await self.pages.ask(ctx, question)

    @hookimpl(tryfirst=True)
    async def end_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Tell the page that a turn is over, before what takes long."""
        await self.pages.ended(turn)

    async def _titled(self, turn: Turn, ctx: Context | None = None) -> None:
        """Every plugin has seen the end of the turn: it may have a title now."""
        if turn.session.kind == "chat":
            here = (turn.session.channel, turn.session.chat_id)
            await self.pages.tell_title(turn.session.id, here)
