"""SearXNG, a search engine that one runs oneself (docs.searxng.org, "Search API")."""

from __future__ import annotations

from hookline_hookspecs import ToolError

from .call import ask
from .results import Found, results


class SearXNG:
    """An instance at `base_url`, whose ``search.formats`` must hold ``json``."""

    name = "SearXNG"

    def __init__(self, base_url: str) -> None:
        self._url = base_url.rstrip("/") + "/search"

    async def search(self, query: str, limit: int) -> list[Found]:
        """The first page of results."""
        formats = "the operator has to add json to search.formats in its settings.yml"
        limiter = "its limiter takes Hookline for a bot"
        answer = await ask(
            self.name,
            "GET",
            self._url,
            params={"q": query, "format": "json"},
            hints={403: formats, 404: "no SearXNG is there: its base URL is wrong", 418: limiter},
        )
        rows = answer.get("results")
        if not isinstance(rows, list):
            raise ToolError("SearXNG answered without a list of results.")
        return results(rows, "content", limit)
