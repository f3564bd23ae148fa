"""Show the stable prompt and what each part costs.

``hookline prompt``. For a session it also shows what last changed its prompt.
"""

from __future__ import annotations

import json as jsonlib
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from hookline_hookspecs import Host, Inspection, StablePrompt, ToolSchema
from hookline_hookspecs.cli import with_plugin

from ..output import print_json, print_text, table, tokens
from ..sessions import exit_unknown_session, local_time

if TYPE_CHECKING:
    from .. import Inspect


@with_plugin
async def prompt(
    plugin: Inspect,
    session: Annotated[
        str | None, typer.Option(metavar="ID", help="Show this session's stored prompt.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the exact stable prompt and tools, with each plugin's share of the tokens."""
    host = plugin.host
    stable = await host.services[Inspection].prompt(session)
    if stable is None:
        exit_unknown_session(session or "")
    found = prompt_costs(stable)
    if session is not None:
        found["last_break"] = await _last_break(host, session)
    if json:
        print_json(found)
        return
    print_text(found["system"])
    rows = [[p["plugin"], p["section"], p["chars"], p["tokens"]] for p in found["by_plugin"]]
    print_text("\n" + table(["plugin", "section", "characters", "tokens"], rows))
    sums = found["tokens"]
    print_text(
        f"\nsystem {sums['system']} + tools {sums['tools']} = {sums['total']} tokens "
        "(characters / 4)"
    )
    print_text(
        f"SHA-256 system {found['sha256']['system']}\nSHA-256 tools  {found['sha256']['tools']}"
    )
    if session is not None:
        print_text(_break_text(found["last_break"]))


async def _last_break(host: Host, session_id: str) -> dict[str, Any] | None:
    """The session's last ``PrefixBreak`` as a mapping, with ``at``."""
    rows = await host.storage.fetch("last_break", id=session_id)
    return {**jsonlib.loads(rows[0]["broken"]), "at": rows[0]["created"]} if rows else None


def prompt_costs(stable: StablePrompt) -> dict[str, Any]:
    """Return the prompt with the tokens of each part, as displayed."""
    by_plugin = [_cost(plugin, slot, text) for plugin, slot, text in stable.parts]
    by_plugin += [
        _cost(stable.owners.get(tool.name, "(gone)"), f"tool {tool.name}", _schema(tool))
        for tool in stable.tools
    ]
    system, tools = tokens(stable.system), tokens(stable.tools_json)
    return {
        "system": stable.system,
        "tools": [asdict(tool) for tool in stable.tools],
        "sha256": {"system": stable.sha256[0], "tools": stable.sha256[1]},
        "tokens": {"system": system, "tools": tools, "total": system + tools},
        "by_plugin": by_plugin,
    }


def _cost(plugin: str, section: str, text: str) -> dict[str, Any]:
    return {"plugin": plugin, "section": section, "chars": len(text), "tokens": tokens(text)}


def _schema(tool: ToolSchema) -> str:
    return jsonlib.dumps(asdict(tool), ensure_ascii=False, separators=(",", ":"))


def _break_text(found: Mapping[str, Any] | None) -> str:
    """A sentence about the last change of the prefix."""
    if found is None:
        return "The prefix has never changed: every request began with the same bytes as before."
    place = f"message {found['message']}" if found["tier"] == "history" else f"the {found['tier']}"
    return (
        f"The prefix last changed at {local_time(found['at'])}, by {found['plugin']}: {place}, "
        f"from byte {found['offset']} on, sent to {found['model']}."
    )
