"""Recognizes the address of a search engine's page of results."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

_ENGINES = re.compile(
    r"(www\.)?(google\.(com|co\.\w\w|\w\w)/search|bing\.com/search|search\.brave\.com/search"
    r"|((html|lite)\.)?duckduckgo\.com(/html|/lite)?)/?"
)


def engine_query(url: str) -> str:
    """What a search engine is asked for by ``url``; empty for every other page."""
    try:
        parts = urlsplit(url.strip())
        host = parts.hostname or ""
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or not _ENGINES.fullmatch(host + parts.path):
        return ""
    return " ".join(parse_qs(parts.query).get("q", [""])[0].split())
