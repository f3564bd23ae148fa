"""Lists what a server offers besides tools: its prompts, and whether it has resources."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

from .catalog import PromptArgument, ServerPrompt
from .tool_schema import strip_hidden

log = logging.getLogger("hookline.plugin.mcp")
MAX_PROMPTS = 200
"""Prompts read from one server."""
MAX_PROMPT_PAGES = 20
MAX_ARGUMENTS = 20
"""Arguments of one prompt that are kept."""
LIST_TIMEOUT = 10.0
"""Seconds for a server to list its prompts or its resources; its tools work without them."""
MAX_DESCRIPTION_CHARS = 300
"""Characters of a description that are kept: a person reads it in one line."""


async def list_prompts(client: Client) -> list[ServerPrompt]:
    """Return the prompts of a server; none if it does not list them as the protocol requires."""
    if client.server_capabilities.prompts is None:
        return []
    found: dict[str, ServerPrompt] = {}
    cursor: str | None = None
    seen: set[str | None] = set()
    try:
        async with asyncio.timeout(LIST_TIMEOUT):
            for _ in range(MAX_PROMPT_PAGES):
                page = await client.list_prompts(cursor=cursor)
                for prompt in page.prompts:
                    found.setdefault(prompt.name, _prompt(prompt))
                seen.add(cursor)
                cursor = page.next_cursor
                if not cursor or cursor in seen or len(found) >= MAX_PROMPTS:
                    break
    except (MCPError, ValueError, TimeoutError) as error:
        log.warning("prompts left out: %s", strip_hidden(str(error))[:300])
    return list(found.values())[:MAX_PROMPTS]


async def list_resources(client: Client) -> bool:
    """Return True if a server has resources, or templates of them."""
    if client.server_capabilities.resources is None:
        return False
    for listed in (client.list_resources, client.list_resource_templates):
        try:
            async with asyncio.timeout(LIST_TIMEOUT):
                page: Any = await listed()
        except (MCPError, ValueError, TimeoutError) as error:
            log.info("resources left out: %s", strip_hidden(str(error))[:300])
            continue
        if getattr(page, "resources", None) or getattr(page, "resource_templates", None):
            return True
    return False


def _prompt(prompt: Any) -> ServerPrompt:
    arguments = tuple(
        PromptArgument(one.name, bool(one.required), _one_line(one.description))
        for one in (prompt.arguments or ())[:MAX_ARGUMENTS]
    )
    return ServerPrompt(prompt.name, _one_line(prompt.description or prompt.title), arguments)


def _one_line(text: str | None) -> str:
    return " ".join(strip_hidden(text or "").split())[:MAX_DESCRIPTION_CHARS]
