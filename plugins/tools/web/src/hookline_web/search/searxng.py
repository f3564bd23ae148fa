"""SearXNG, a self-hosted search engine (docs.searxng.org, "Search API")."""

from __future__ import annotations

from hookline_hookspecs import ToolError

from .request import request_json
from .results import SearchHit, search_hits


class SearXNG:
    """An instance at `base_url`, whose ``search.formats`` must include ``json``."""

    name = "SearXNG"

    def __init__(self, base_url: str) -> None:
        self._url = base_url.rstrip("/") + "/search"

    async def search(self, query: str, limit: int) -> list[SearchHit]:
        """The first page of results."""
        formats = "the operator has to add json to search.formats in its settings.yml"
        limiter = "its limiter treats Hookline as a bot"
        answer = await request_json(
            self.name,
            "GET",
            self._url,
            params={"q": query, "format": "json"},
            hints={403: formats, 404: "no SearXNG there: the base URL is wrong", 418: limiter},
        )
        rows = answer.get("results")
        if not isinstance(rows, list):
            raise ToolError("SearXNG answered without a list of results.")
        return search_hits(rows, "content", limit)
