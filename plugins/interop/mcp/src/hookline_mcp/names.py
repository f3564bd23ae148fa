"""Full names of tools: ``mcp__SERVER__TOOL``, in characters that providers accept."""

from __future__ import annotations

import hashlib
import re

PREFIX = "mcp__"
MAX_TOOL_NAME_CHARS = 64
"""Characters of a tool's name (``hookline_hookspecs.Tool``)."""
_INVALID_CHAR = re.compile(r"[^A-Za-z0-9_-]")


def full_name(server: str, tool: str) -> str:
    """Return the name under which a model calls a tool.

    Other characters are replaced and long names cut; such names end with a part of their hash, so
    that two tools never share a name.
    """
    plain = _INVALID_CHAR.sub("_", tool)
    name = f"{PREFIX}{server}__{plain}"
    if plain == tool and tool and len(name) <= MAX_TOOL_NAME_CHARS:
        return name
    mark = hashlib.sha256(tool.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{name[: MAX_TOOL_NAME_CHARS - 9]}_{mark}"
