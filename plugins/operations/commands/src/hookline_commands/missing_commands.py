"""Explains commands of Hookline's own plugins that are not on, and recognises misspelt commands."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from hookline_hookspecs import Host
from hookline_hookspecs.inspection import Inspection
from hookline_hookspecs.sentences import N_

COMMANDS_BY_PLUGIN = {
    "access": ("answer", "pair"),
    "approvals": ("approve", "deny", "grants", "questions"),
    "audit": ("audit",),
    "budget": ("budget",),
    "checkpoints": ("rewind", "rollback"),
    "compaction": ("compact", "compress"),
    "context-refs": ("diff", "review"),
    "delegate": ("tasks",),
    "goals": ("background", "goal"),
    "insights": ("insights",),
    "inspect": ("context", "cost", "plugins", "sessions", "status", "usage"),
    "mcp": ("mcp",),
    "memory": ("memory",),
    "permissions": ("accept", "mode", "permissions"),
    "plan": ("plan",),
    "provenance": ("proposals", "provenance", "trust"),
    "reasoning": ("reasoning",),
    "scheduler": ("schedule",),
    "shell": ("jobs",),
    "skills": ("skill", "skills"),
    "terminal": ("copy", "editor", "expand", "fork", "theme", "vim"),
    "user-model": ("user",),
}
"""The commands of other plugins."""
PLUGIN_BY_COMMAND = {
    f"/{name}": plugin for plugin, names in COMMANDS_BY_PLUGIN.items() for name in names
}
ALTERNATIVES = {
    "checkpoints": N_(
        "To undo only the conversation, use /undo, or /undo N for the last N turns; files stay "
        "as they are."
    )
}
"""What a person can do without the plugin."""


def command_without_plugin(text: str, known: Iterable[str]) -> str | None:
    """Return the command at the start of a message if its plugin is not on, else None.

    ``known`` are the names and aliases of all available commands.
    """
    name = text.split(None, 1)[0].casefold() if text.startswith("/") else ""
    return name if name in PLUGIN_BY_COMMAND and name not in known else None


def misspelt_command(text: str, known: Collection[str]) -> str | None:
    """Return the command at the start of a message if it is unknown but resembles a known one."""
    name = text.split(None, 1)[0].casefold() if text.startswith("/") else ""
    if name in known or not name[1:].isalpha():
        return None
    from .help_texts import closest_command

    return name if closest_command(name, known) else None


async def explain_missing(host: Host, name: str) -> str:
    """Return why the command ``name`` is not available, and how to get it."""
    plugin = PLUGIN_BY_COMMAND[name]
    rows = await host.services[Inspection].plugins()
    row = next((row for row in rows if row["name"] == plugin), None)
    state, reason = (row["state"], row["reason"]) if row is not None else ("off", "")
    if state == "failed":
        problem = N_(f"{name} is not available: the plugin {plugin} failed: {reason.rstrip('.')}.")
        fix = N_("Run `hookline doctor` for details.")
    elif state == "missing":
        problem = N_(f"{name} is not available: the plugin {plugin} is not installed.")
        fix = N_(f"Install it with `hookline plugins enable {plugin}`.")
    else:
        problem = N_(f"{name} is not available: the plugin {plugin} is off.")
        fix = N_(f"Turn it on with `hookline plugins enable {plugin}`.")
    return " ".join(filter(None, [problem, fix, ALTERNATIVES.get(plugin, "")]))
