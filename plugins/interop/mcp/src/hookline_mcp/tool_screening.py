"""Passes the definitions of a server's tools through ``pre_read`` before they are approved."""

from __future__ import annotations

import json
from typing import Any

from hookline_hookspecs import HooklineError, Host

from .catalog import ToolListing
from .servers import ToolServer
from .tool_schema import model_schema


async def screen_tools(
    host: Host, server: ToolServer, listing: ToolListing
) -> tuple[dict[str, tuple[str, dict[str, Any]]], dict[str, str]]:
    """Return description and parameters of the tools that pass, and why others were refused."""
    passed: dict[str, tuple[str, dict[str, Any]]] = {}
    refused: dict[str, str] = {}
    for tool, wire in listing.tools.items():
        description, parameters = model_schema(wire)
        whole = json.dumps([tool, description, parameters], ensure_ascii=False)
        try:
            read = await host.read(whole, f"mcp {server.name}", kind="mcp")
            _, description, parameters = json.loads(read)
        except ValueError:
            refused[tool] = "a guard made its schema invalid"
        except HooklineError as refusal:
            refused[tool] = str(refusal)
        else:
            passed[tool] = (description, parameters)
    return passed, refused
