"""Trust: whose words count as the workspace's, and who may receive, by config or by grant."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hookline_hookspecs import HooklineError, Host
from hookline_hookspecs.sentences import N_
from pydantic import BaseModel, Field

from .taint import host_of

MAX_NAME_CHARS = 300
"""Characters of a name."""
_WITH_BLANKS = re.compile(r"tool \S+$|[a-z][\w-]*:\S")
"""What may have blanks: a tool, and a person whose name has some."""


class ChatTrust(BaseModel):
    """Who is trusted in a chat, or everywhere."""

    recipients: list[str] = Field(
        default_factory=list,
        description=(
            "Mail addresses, handles, channels, accounts and names that may receive messages as if"
            " you had named them."
        ),
    )
    sources: list[str] = Field(
        default_factory=list,
        description=(
            "Hosts (with their subdomains) and people such as telegram:222 whose text is trusted "
            "like your own files."
        ),
    )
    tools: list[str] = Field(
        default_factory=list, description="Tools whose results are trusted like your own files."
    )

    def names(self) -> frozenset[str]:
        """The sources and tools, as they are compared."""
        return frozenset(map(_plain, [*self.sources, *(f"tool {one}" for one in self.tools)]))


class TrustSettings(ChatTrust):
    """Who is trusted."""

    chats: dict[str, ChatTrust] = Field(
        default_factory=dict,
        description="What is also trusted in one chat, by its name, such as telegram:-100123.",
    )


class Trust:
    """Who is trusted."""

    def __init__(self, host: Host, settings: TrustSettings) -> None:
        self._host, self._settings = host, settings
        self._configured = settings.names()

    def recipients(self, chat: str) -> Sequence[str]:
        """Who may receive in a chat (``channel:id``) as if the person had named them."""
        here = self._settings.chats.get(chat, ChatTrust())
        return [*self._settings.recipients, *here.recipients]

    async def names(self, chat: str = "") -> frozenset[str]:
        """Every trusted source and tool in a chat, in lower case."""
        rows = await self._host.storage.fetch("trusted")
        here = self._settings.chats.get(chat, ChatTrust()).names()
        return self._configured | here | {row["what"] for row in rows}

    async def add(self, what: str, by_whom: str) -> str:
        """Trust a host (and those below it), a person or a tool; return the name as it is kept.

        Raises ``HooklineError`` for what is none.
        """
        name = _plain(what)
        is_known = " " not in name or _WITH_BLANKS.match(name)
        if not name or len(name) > MAX_NAME_CHARS or name == "." or "*" in name or not is_known:
            raise HooklineError(
                f"{what[:60]!r} cannot be trusted; name a host (docs.example.com), a person "
                "(telegram:222) or a tool (tool NAME)"
            )
        await self._host.storage.execute(
            "trust", what=name, by_whom=by_whom, added=self._host.now()
        )
        return name

    async def remove(self, what: str) -> bool:
        """Trust it no longer; False if it was not granted."""
        return bool(await self._host.storage.execute("distrust", what=_plain(what)))

    async def listed(self) -> Sequence[str]:
        """The names, one a line, with who granted them."""
        return [f"{name} · {N_(f'trusted by {by}')}" for name, by in await self.entries()]

    async def entries(self) -> Sequence[tuple[str, str]]:
        """Return each name with who granted it: ``config.yaml``, or a person."""
        rows = await self._host.storage.fetch("trusted")
        granted = [(str(row["what"]), str(row["by_whom"])) for row in rows]
        return [*((name, "config.yaml") for name in sorted(self._configured)), *granted]


def _plain(what: str) -> str:
    """A URL as its host, everything in lower case."""
    text = " ".join(what.split())
    return host_of(text) if "://" in text else text.casefold().rstrip(".")
