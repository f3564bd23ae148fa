"""What is said about a command of Hookline's own whose plugin is not on, and what to do."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from hookline_hookspecs import Host
from hookline_hookspecs.inspection import Inspection

PLUGINS = {
    "access": ("answer", "pair"),
    "approvals": ("approve", "deny", "grants"),
    "audit": ("audit",),
    "budget": ("budget",),
    "checkpoints": ("rewind", "rollback"),
    "compaction": ("compact", "compress"),
    "goals": ("background", "goal"),
    "insights": ("insights",),
    "inspect": ("context", "plugins", "sessions", "status", "usage"),
    "memory": ("memory",),
    "modes": ("accept", "mode"),
    "plan": ("plan",),
    "provenance": ("proposals", "trust"),
    "reasoning": ("reasoning",),
    "scheduler": ("schedule",),
    "skills": ("skill", "skills"),
    "terminal": ("copy", "expand"),
    "user-model": ("user",),
}
"""The commands of other plugins."""
OWNERS = {f"/{name}": plugin for plugin, names in PLUGINS.items() for name in names}
INSTEAD = {
    "checkpoints": "The conversation alone goes back with /undo, or /undo N for the last N turns; "
    "files stay."
}
"""What can be done without the plugin."""


def lacking(text: str, known: Iterable[str]) -> str | None:
    """Return the command that a message begins with if its plugin is not on, else None.

    ``known`` are the names and aliases there are.
    """
    name = text.split(None, 1)[0].casefold() if text.startswith("/") else ""
    return name if name in OWNERS and name not in known else None


def mistaken(text: str, known: Collection[str]) -> str | None:
    """Return the command that a message begins with if it is none of ``known`` but means one."""
    name = text.split(None, 1)[0].casefold() if text.startswith("/") else ""
    if name in known or not name[1:].isalpha():
        return None
    from .listing import meant

    return name if meant(name, known) else None


async def told(host: Host, name: str) -> str:
    """Return why there is no command ``name``, and how to get it."""
    plugin = OWNERS[name]
    rows = await host.services[Inspection].plugins()
    row = next((row for row in rows if row["name"] == plugin), None)
    state, reason = (row["state"], row["reason"]) if row is not None else ("off", "")
    enable = f"`hookline plugins enable {plugin}`"
    if state == "failed":
        why = f"{plugin}, which has it, does not work: {reason.rstrip('.')}"
        do = "`hookline doctor` says more."
    elif state == "missing":
        why = f"{plugin}, which has it, is not installed"
        do = f"{enable} installs it and switches it on."
    else:
        why = f"{plugin}, which has it, is off"
        do = f"{enable} switches it on."
    parts = [f"There is no command {name} now: the plugin {why}.", do, INSTEAD.get(plugin, "")]
    return " ".join(filter(None, parts))
