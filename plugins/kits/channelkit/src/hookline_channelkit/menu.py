"""The menu of commands that a platform shows."""

from __future__ import annotations

import json
from collections.abc import Mapping

from hookline_hookspecs import Host, Inspection

from .arrivals import digest
from .wire import Wire

CORE = frozenset(
    {"help", "new", "stop", "model", "retry", "undo", "title", "resume", "queue", "whoami"}
)
"""Commands that are there without any plugin."""
USUAL = {
    "new": "End this session and begin a new one",
    "stop": "Stop the running turn",
    "status": "Show what is going on",
    "model": "Show or choose the model",
    "retry": "Run the last message again",
    "undo": "Take the last turn back",
    "compact": "Shorten the conversation",
    "usage": "Show the tokens used",
    "title": "Show or set the title",
    "sessions": "Show the sessions of this chat",
    "resume": "Go back to a session",
    "skills": "Show the skills",
    "memory": "Show what is remembered",
    "schedule": "Show scheduled work",
    "whoami": "Show who you are here",
    "help": "Show all commands",
}
"""What is shown unless config says otherwise, in this order."""
KEY = "menu"
"""Where a digest of the menu that was set last is, in the plugin's key-value storage: some
platforms allow few changes a day."""


class Menu:
    """The commands that exist, in the platform's menu.

    Args:
        host: the plugin's host.
        wire: the platform.
        commands: what config says; None = :data:`USUAL`, as far as it exists; {} = no change.
    """

    def __init__(self, host: Host, wire: Wire, commands: Mapping[str, str] | None) -> None:
        self._host, self._wire, self._commands = host, wire, commands

    async def show(self) -> None:
        """Set the menu, if it is not the one that was set last. A failure is logged."""
        if self._commands == {}:
            return
        try:
            commands = self._commands or await commands_of(self._host)
            mark = digest(json.dumps([self._wire.identity, dict(commands)]))
            if await self._host.storage.kv.get(KEY) != mark:
                await self._wire.set_menu(commands)
                await self._host.storage.kv.set(KEY, mark)
        except Exception as error:
            self._host.log.warning("the menu of commands could not be set: %s", error)


async def commands_of(host: Host) -> Mapping[str, str]:
    """Those of :data:`USUAL` that core or a plugin has."""
    core = host.services[Inspection]
    there = set(CORE)
    for row in await core.plugins():
        details = core.plugin_details(row["name"])
        there.update(name.strip("/") for name in details.get("commands", ()))
    return {name: help_ for name, help_ in USUAL.items() if name in there}
