"""Names of tools: ``mcp__SERVER__TOOL``, in the characters that providers take."""

from __future__ import annotations

import hashlib
import re

PREFIX = "mcp__"
LONGEST = 64
"""Characters of a tool's name (``hookline_hookspecs.Tool``)."""
_ODD = re.compile(r"[^A-Za-z0-9_-]")


def full_name(server: str, tool: str) -> str:
    """Return the name that a tool of a server is called by.

    A name with other characters, or one that is too long, gets them replaced, and a part of its
    own hash at the end, so that two tools never share a name.
    """
    plain = _ODD.sub("_", tool)
    name = f"{PREFIX}{server}__{plain}"
    if plain == tool and tool and len(name) <= LONGEST:
        return name
    mark = hashlib.sha256(tool.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{name[: LONGEST - 9]}_{mark}"
