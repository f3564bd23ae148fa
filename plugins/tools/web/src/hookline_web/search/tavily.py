"""Tavily (docs.tavily.com, "Tavily Search")."""

from __future__ import annotations

from hookline_hookspecs import ToolError
from pydantic import SecretStr

from .request import request_json
from .results import SearchHit, search_hits


class Tavily:
    """The service at `base_url`, for the account of `key`."""

    name = "Tavily"

    def __init__(self, key: SecretStr, base_url: str) -> None:
        self._key = key
        self._url = base_url.rstrip("/") + "/search"

    async def search(self, query: str, limit: int) -> list[SearchHit]:
        """The best results; Tavily gives 20 at most."""
        plan = "the account's searches are used up: the operator has to raise its limit"
        answer = await request_json(
            self.name,
            "POST",
            self._url,
            json={"query": query, "max_results": limit},
            headers={"Authorization": f"Bearer {self._key.get_secret_value()}"},
            hints={432: plan, 433: plan},
        )
        rows = answer.get("results")
        if not isinstance(rows, list):
            raise ToolError("Tavily answered without a list of results.")
        return search_hits(rows, "content", limit)
