"""What of a server's tools a model may read, before a person approves them."""

from __future__ import annotations

import json
from typing import Any

from hookline_hookspecs import HooklineError, Host

from .catalog import Listing
from .servers import Server
from .wire import offered


async def readable(
    host: Host, server: Server, listing: Listing
) -> tuple[dict[str, tuple[str, dict[str, Any]]], dict[str, str]]:
    """Return the description and parameters of each tool as ``pre_read`` passed them, and why
    others did not pass."""
    passed: dict[str, tuple[str, dict[str, Any]]] = {}
    refused: dict[str, str] = {}
    for tool, wire in listing.tools.items():
        description, parameters = offered(wire)
        whole = json.dumps([tool, description, parameters], ensure_ascii=False)
        try:
            read = await host.read(whole, f"mcp {server.name}", kind="mcp")
            _, description, parameters = json.loads(read)
        except ValueError:
            refused[tool] = "a guard changed its schema, which is none any more"
        except HooklineError as refusal:
            refused[tool] = str(refusal)
        else:
            passed[tool] = (description, parameters)
    return passed, refused
