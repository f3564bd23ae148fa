"""The menu of commands that a chat shows."""

from __future__ import annotations

from collections.abc import Mapping

from hookline_hookspecs import Host, Inspection

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


async def commands_of(host: Host) -> Mapping[str, str]:
    """Those of :data:`USUAL` that core or a plugin has."""
    core = host.services[Inspection]
    there = set(CORE)
    for row in await core.plugins():
        details = core.plugin_details(row["name"])
        there.update(name.strip("/") for name in details.get("commands", ()))
    return {name: help_ for name, help_ in USUAL.items() if name in there}
