"""Reads the token counts of compatible servers as :class:`Usage`."""

from __future__ import annotations

from typing import Any

from hookline_hookspecs import Usage
from hookline_providerkit import token_count


def read_usage(usage: object) -> Usage:
    """Return what a server reported; a count that is missing or odd is 0.

    ``prompt_tokens`` and ``completion_tokens`` are the names of chat completions,
    ``input_tokens`` and ``output_tokens`` those of responses. The cached part is in
    ``…_details.cached_tokens`` (OpenAI), ``prompt_cache_hit_tokens`` (DeepSeek) or
    ``cached_tokens`` (Moonshot).
    """
    if not isinstance(usage, dict):
        return Usage()
    read = _details(usage, "prompt_tokens_details", "input_tokens_details")
    wrote = _details(usage, "completion_tokens_details", "output_tokens_details")
    cached = (
        _count(read, "cached_tokens")
        or _count(usage, "prompt_cache_hit_tokens")
        or _count(usage, "cached_tokens")
    )
    return Usage(
        input=_count(usage, "prompt_tokens") or _count(usage, "input_tokens"),
        cache_read=cached,
        cache_write=_count(read, "cache_write_tokens"),
        output=_count(usage, "completion_tokens") or _count(usage, "output_tokens"),
        reasoning=_count(wrote, "reasoning_tokens"),
    )


def _details(usage: dict[str, Any], *names: str) -> dict[str, Any]:
    for name in names:
        found = usage.get(name)
        if isinstance(found, dict):
            return found
    return {}


def _count(usage: dict[str, Any], name: str) -> int:
    return token_count(usage.get(name))
