"""The plugin: registers the channel, the page's routes, and follows turns."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from hookline_hookspecs import (
    Channel,
    Context,
    Deny,
    Host,
    Inbound,
    Job,
    Plugin,
    Route,
    Turn,
    WorkDistribution,
    hookimpl,
)
from hookline_hookspecs.web import Identity, Problem, Renderer
from hookline_hookspecs.workspaces import WorkFolders
from pydantic import BaseModel, Field

if TYPE_CHECKING:
    from .api import Api
    from .front import Front
    from .page import Pages
    from .setup_page import SetupPage
    from .work_folders import ChatFolders


CHANNEL = "web"
Sharing: TypeAlias = Literal[False, "operators", "everyone"]
"""Who may share their chats by a link."""


class WebUiConfig(BaseModel):
    """Settings of the page; the address is that of ``web-server``."""

    share: Sharing = Field(
        default="operators",
        title="Who may share chats",
        description=(
            "Who may share chats by a read-only link: operators, everyone, or false for no one."
        ),
    )
    push_contact: str = Field(
        default="",
        pattern="^(|mailto:.+|https://.+)$",
        title="Push contact",
        description="Contact for push services: mailto:… or https://…; some require one.",
    )


class WebUi(Plugin[WebUiConfig]):
    """The web page for chatting with the agent."""

    requires: ClassVar[tuple[str, ...]] = ("web-server",)
    _pages: Pages | None = None

    _api: Api | None = None
    _setup: SetupPage | None = None

    @property
    def pages(self) -> Pages:
        """The parts of the page, created and connected at first use, by a process with the page."""
        if self._pages is None:
            from .page import Pages

            self._pages = Pages(self.host, self.folders, self.config)
            self._pages.listener.connect()
            self.host.signals.connect("end_of_turn", self._titled)
        return self._pages

    @cached_property
    def folders(self) -> ChatFolders:
        """The folders that chats work in."""
        from .work_folders import ChatFolders

        return ChatFolders(self.host)

    @cached_property
    def front(self) -> Front:
        """Renders views as pages."""
        from .front import Front
        from .person_settings import PeopleSettings

        return Front(self.host, self._name_of, PeopleSettings(self.host))

    async def _name_of(self, who: Identity, session: str) -> str | None:
        from .session_names import name_of

        try:
            return name_of(await self.pages.reader.row(who, session))
        except Problem:
            return None

    @hookimpl
    def register_channels(self, register: Callable[[Channel], None]) -> None:
        """Register the channel ``web``; the gateway starts it."""
        from .channel import WebChannel

        register(WebChannel(self.host, lambda: self.pages))

    @hookimpl
    def register_routes(self, register: Callable[[Route], None]) -> None:
        """Register the chat page, the inbox, shared chats and ``/api``."""
        from .api import Api
        from .inbox import Inbox
        from .settings_page import SettingsPage
        from .setup_page import SetupPage
        from .shared_page import SharedPages
        from .workspace_api import WorkspaceApi

        self.front.register(register)
        Inbox(self.front, lambda: self.pages).register(register)
        SettingsPage(self.front, lambda: self.pages).register(register)
        SharedPages(self.host, self.front, lambda: self.pages).register(register)
        self._setup = self._setup or SetupPage(self.host)
        self._setup.register(register)
        self._api = self._api or Api(self.pages)
        self._api.register(register)
        WorkspaceApi(lambda: self.pages).register(register)

    @hookimpl
    def register_jobs(self, register: Callable[[Job], None]) -> None:
        """Register the job that deletes unused uploads after a day, and links that have ended."""
        register(Job("unused files", self._prune, every=6 * 3600.0))

    async def _prune(self) -> None:
        await self.pages.prune()

    @hookimpl
    def setup(self, host: Host) -> None:
        """Provide the renderer of views, and the folders of chats."""
        host.services.provide(Renderer, self.front)
        host.services.provide(WorkFolders, self.folders)

    @hookimpl
    async def on_message(self, ctx: Context, inbound: Inbound) -> Inbound | Deny | None:
        """Run a message in the folder that was chosen for its chat."""
        return await self.folders.place(inbound) if inbound.channel == CHANNEL else None

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
