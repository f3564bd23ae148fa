"""Lists the chat among those that are open (``hookline sessions --live``), while it is."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from hookline_hookspecs import HooklineError, Host
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.open_chats import OpenChat, OpenChats

from .conversation import TerminalConversation


class OpenChatEntry:
    """The chat's entry; it follows the person into other sessions.

    Args:
        host: the plugin's host.
        conversation: knows the session. Its receivers have to be connected first.
    """

    def __init__(self, host: Host, conversation: TerminalConversation) -> None:
        self._host = host
        self._conversation = conversation
        self._listed = ""

    @property
    def receivers(self) -> dict[str, Any]:
        """The receivers to connect, by signal."""
        return {"start_of_turn": self._follow, "resumed": self._follow}

    async def update(self) -> None:
        """List the session that the chat is in now."""
        chats = self._host.services.get(OpenChats)
        if chats is not None:
            self._listed = self._session
            chat = OpenChat(self._listed, TERMINAL, str(self._host.paths.workspace))
            with suppress(HooklineError):  # on a full disk, one can still read and chat
                await chats.open(chat, TERMINAL)

    async def close(self) -> None:
        """List the chat no longer."""
        if self._listed and (chats := self._host.services.get(OpenChats)) is not None:
            with suppress(HooklineError):
                await chats.close(TERMINAL)

    @property
    def _session(self) -> str:
        return self._conversation.opened or self._conversation.session or ""

    def _follow(self, _sent: Any, ctx: Any = None) -> None:
        if self._session != self._listed:
            self._host.spawn(self.update(), "list the chat's session")
