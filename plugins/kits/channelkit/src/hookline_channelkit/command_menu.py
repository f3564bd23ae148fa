"""Sets the menu of commands that a platform shows."""

from __future__ import annotations

import json
from collections.abc import Mapping

from hookline_hookspecs import Host, Inspection

from .client import PlatformClient
from .events import text_digest

CORE_COMMANDS = frozenset(
    {"help", "new", "stop", "model", "retry", "undo", "title", "resume", "queue", "whoami"}
)
"""Commands that exist without any plugin."""
DEFAULT_MENU = {
    "new": "Start a new session",
    "stop": "Stop the running turn",
    "status": "Show what is running",
    "model": "Show or choose the model",
    "retry": "Run the last message again",
    "undo": "Remove the last turn",
    "compact": "Shorten the conversation",
    "usage": "Show token usage",
    "title": "Show or set the title",
    "sessions": "List the sessions of this chat",
    "resume": "Go back to a session",
    "skills": "List the skills",
    "memory": "Show what is remembered",
    "schedule": "Show scheduled jobs",
    "whoami": "Show who you are here",
    "help": "Show all commands",
}
"""The menu unless config has one, in this order."""
DIGEST_KEY = "menu"
"""Key in ``host.storage.kv`` of a digest of the menu that was set last: some platforms allow few
changes a day."""


class CommandMenu:
    """Sets the platform's menu to the existing commands.

    Args:
        host: the plugin's host.
        client: the platform.
        commands: the menu from config; None = the existing ones of :data:`DEFAULT_MENU`; {} =
            leave the menu unchanged.
    """

    def __init__(
        self, host: Host, client: PlatformClient, commands: Mapping[str, str] | None
    ) -> None:
        self._host, self._client, self._commands = host, client, commands

    async def update(self) -> None:
        """Set the menu if it has changed. A failure is logged."""
        if self._commands == {}:
            return
        try:
            commands = self._commands or await _available_commands(self._host)
            digest = text_digest(json.dumps([self._client.identity, dict(commands)]))
            if await self._host.storage.kv.get(DIGEST_KEY) != digest:
                await self._client.set_commands(commands)
                await self._host.storage.kv.set(DIGEST_KEY, digest)
        except Exception as error:
            self._host.log.warning("cannot set the command menu: %s", error)


async def _available_commands(host: Host) -> Mapping[str, str]:
    """Return the commands of :data:`DEFAULT_MENU` that core or a plugin provides."""
    inspection = host.services[Inspection]
    available = set(CORE_COMMANDS)
    for row in await inspection.plugins():
        details = inspection.plugin_details(row["name"])
        available.update(name.strip("/") for name in details.get("commands", ()))
    return {name: text for name, text in DEFAULT_MENU.items() if name in available}
