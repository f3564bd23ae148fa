"""Finds the field that a server refuses although others accept it, from its error."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from hookline_providerkit import error_text, is_context_too_long

OTHER_NAMES = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
"""Two names of one field: OpenAI's newer models refuse the first, Mistral and older servers the
second."""
OPTIONAL = (
    "max_completion_tokens",
    "max_tokens",
    "stream_options",
    "prompt_cache_key",
    "prompt_cache_retention",
    "tool_choice",
    "temperature",
    "response_format",
    "store",
    "stream",
)
"""Fields that can be left out."""
STATUSES = frozenset({400, 422, 500, 501})
"""llama.cpp has answered 500 to a parameter that it does not know."""
_REFUSED_WORDS = re.compile(
    r"unsupported|(?:not|n't) (?:be )?(?:supported?|permitted|allowed|available|recogni[sz]ed)"
    r"|unrecogni[sz]ed|unknown|unexpected|extra[_ ](?:input|field|forbidden)|forbidden|unavailable"
    r"|must be verified|invalid (?:parameter|argument|field)",
    re.IGNORECASE,
)
_VALUE_WORDS = re.compile(
    r"too (?:large|small|high|low|long|many)|at (?:most|least)|(?:max|min)imum|less than"
    r"|(?:great|small|larg)er|out of range|between",
    re.IGNORECASE,
)
"""Words about a value. Another value may be accepted, so the field is kept."""


def refused_field(status: int, body: Any, sent: Mapping[str, Any]) -> str | None:
    """Return the optional field of ``sent`` that the error names, or None.

    Args:
        status: of the response.
        body: the error as the server gave it.
        sent: the top-level fields of the request.
    """
    if status not in STATUSES or is_context_too_long(body):
        return None
    candidates = [name for name in OPTIONAL if sent.get(name) not in (None, False)]
    named = [name for name in _named(body) if name in candidates]
    text = error_text(body)
    if named:
        # A code such as `extra_forbidden` is clear by itself; a bare `param` comes with values too.
        return None if _VALUE_WORDS.search(text) and not _REFUSED_WORDS.search(text) else named[0]
    if not _REFUSED_WORDS.search(text) or _VALUE_WORDS.search(text):
        return None
    found = [(match.start(), name) for name in candidates if (match := _word(name).search(text))]
    return min(found)[1] if found else None


def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![A-Za-z0-9_]){name}(?![A-Za-z0-9_])")


def _named(body: Any, depth: int = 6) -> Iterator[str]:
    """Yield fields that an error names apart from its text: ``param`` or pydantic's ``loc``."""
    if not depth:
        return
    if isinstance(body, Mapping):
        param, place = body.get("param"), body.get("loc")
        if isinstance(param, str):
            yield param.partition(".")[0]
        if isinstance(place, list) and len(place) > 1 and isinstance(place[1], str):
            yield place[1]
        for value in body.values():
            yield from _named(value, depth - 1)
    elif isinstance(body, list):
        for value in body[:20]:
            yield from _named(value, depth - 1)
