"""The key under which equal calls share a result."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from hookline_hookspecs import Context, Tool, ToolCall


def cache_key(ctx: Context, tool: Tool, call: ToolCall) -> str:
    """SHA-256 of the tool's name, the canonical arguments and what the tool can see of the chat.

    A tool that takes ``ctx`` sees chat and workspace, so its result may depend on them; any other
    tool returns the same to every chat. An argument with its default value counts as left out.
    """
    chat: list[str] = []
    if tool.wants_context:
        chat = [ctx.session.channel, ctx.session.chat_id, str(ctx.paths.workspace)]
    arguments = _without_defaults(tool, call.arguments)
    text = json.dumps([call.name, arguments, chat], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _without_defaults(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    def is_default(name: str, value: Any) -> bool:
        default = tool.defaults.get(name, ...)
        return type(default) is type(value) and bool(default == value)

    return {name: value for name, value in arguments.items() if not is_default(name, value)}
