"""Reads the names of tools that a model nearly got right."""

from __future__ import annotations

import re
from collections.abc import Sequence

_TEMPLATE_MARK = re.compile(r"<[|｜/\w].*|\(.*", re.DOTALL)
"""What some servers leave of the model's template at the end of a name, or empty brackets."""
_PREFIXES = re.compile(r"\A(?:functions?|tools?|default_api|multi_tool_use)[./:]", re.IGNORECASE)
_NUMBER = re.compile(r":\d+\Z")
"""The number of the call in Kimi's ids, which some servers send as the name."""


def offered_name(name: str, offered: Sequence[str]) -> str:
    """Return the offered tool that ``name`` stands for; ``name`` itself if that is not certain."""
    if name in offered:
        return name
    bare = _TEMPLATE_MARK.sub("", name.strip().strip("`'\"")).strip()
    candidates = [bare, _NUMBER.sub("", _PREFIXES.sub("", bare))]
    for candidate in candidates:
        if candidate in offered:
            return candidate
    for candidate in candidates:
        alike = [one for one in offered if _key(one) == _key(candidate)]
        if len(alike) == 1:
            return alike[0]
    return name


def _key(name: str) -> str:
    return re.sub(r"[\s_-]+", "", name).lower()
