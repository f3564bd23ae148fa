"""Services that plugins offer and that others use when they are there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .host import Context
    from .inbound import Inbound


class Access(Protocol):
    """Who may do what on network channels; offered by a plugin."""

    async def may_write(self, channel: str, user_id: str) -> bool:
        """Return whether messages from this person are accepted, so that a channel can avoid
        fetching files from others. Every message still passes ``on_message``, which decides."""

    def is_operator(self, inbound: Inbound) -> bool:
        """Return True for a message from an admin in a chat that nobody else reads."""

    async def may_approve(self, channel: str, user_id: str) -> bool:
        """Return whether this person may approve what the agent wants to do."""
        return False


class ArtifactKeeper(Protocol):
    """Keeps large texts for the tool ``fetch_artifact``; offered by a plugin."""

    async def keep(self, ctx: Context, text: str) -> str:
        """Keep ``text`` for the chat of ``ctx`` and return its id; equal texts have the same id.
        Raises ``StoreError``."""


class Checkpoints(Protocol):
    """Saves files so that a person can put them back; offered by a plugin."""

    async def hold(self, ctx: Context, place: Path | None = None) -> bool:
        """Save the session's workspace as it is now. Return True if that worked, and holds every
        file that git tracks in it; otherwise what is thrown away may be lost. With ``place``, a
        file or folder outside of the workspace, return True if all of that is saved."""


class ToolServers(Protocol):
    """Offers the tools of MCP servers that a client attaches to a session."""

    def attach(self, session_id: str, servers: Sequence[Mapping[str, Any]]) -> list[str]:
        """Set the servers of a session, in place of those attached before.

        They stay until this process ends. A server is an entry as MCP clients write it below
        ``mcpServers``, with its ``name``. A person is asked before one is started that is not
        approved. Sessions that began before the first servers were attached may not reach them.
        Return a sentence for each server that cannot be used.
        """
