"""Brave Search (api-dashboard.search.brave.com, "Web Search API")."""

from __future__ import annotations

from hookline_hookspecs import ToolError
from pydantic import SecretStr

from .request import request_json
from .results import SearchHit, search_hits


class Brave:
    """The service at `base_url`, for the subscription of `key`."""

    name = "Brave"

    def __init__(self, key: SecretStr, base_url: str) -> None:
        self._key = key
        self._url = base_url.rstrip("/") + "/web/search"

    async def search(self, query: str, limit: int) -> list[SearchHit]:
        """The first page of results; Brave gives 20 at most."""
        key = "its key is missing or wrong: the operator has to correct it"
        answer = await request_json(
            self.name,
            "GET",
            self._url,
            params={"q": query, "count": limit, "text_decorations": "false"},
            headers={"X-Subscription-Token": self._key.get_secret_value()},
            hints={403: key, 422: f"it rejected the query, or {key}"},
        )
        # Without any result there is no section "web".
        web = answer.get("web", {})
        rows = web.get("results", []) if isinstance(web, dict) else None
        if not isinstance(rows, list) or "type" not in answer:
            raise ToolError("Brave answered without a list of results.")
        return search_hits(rows, "description", limit)
