"""DuckDuckGo without a key: the page for browsers without JavaScript (html.duckduckgo.com).

It is read through ``host.http``. The package ddgs is not used: it brings an HTTP client of its own,
whose requests the guard could not see.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from hookline_hookspecs import Http, ToolError

from ..retry_after import retry_hint
from .request import MAX_RESPONSE_BYTES, SEARCH_TIMEOUT
from .results import SearchHit, search_hits

MAX_PAGES = 2
"""Pages of one search; a page has about ten results."""
_REFUSALS = (202, 403, 418, 429)
"""What it answers to whom it takes for a robot, or to too many searches."""


class DuckDuckGo:
    """The search page at ``base_url``, asked with this ``User-Agent``."""

    name = "DuckDuckGo"

    def __init__(self, http: Http, base_url: str, user_agent: str) -> None:
        self._http = http
        self._url = base_url.rstrip("/") + "/"
        self._user_agent = user_agent

    async def search(self, query: str, limit: int) -> list[SearchHit]:
        """The results of the first page, and of the next one if they are fewer than ``limit``."""
        rows: list[dict[str, str]] = []
        fields: Mapping[str, str] | None = {"q": query}
        for number in range(MAX_PAGES):
            try:
                found, fields = await self._page(fields or {})
            except ToolError:
                if not number:
                    raise
                break  # the first page is better than none
            rows += found
            if fields is None or len(search_hits(rows, "text", limit)) >= limit:
                break
        return search_hits(rows, "text", limit)

    async def _page(
        self, fields: Mapping[str, str]
    ) -> tuple[list[dict[str, str]], Mapping[str, str] | None]:
        """The rows of a page, and the fields of the form that leads to the next one."""
        response = await self._http.request(
            "POST",
            self._url,
            content=urlencode(fields).encode(),
            headers={
                "content-type": "application/x-www-form-urlencoded",
                "user-agent": self._user_agent,
                "accept": "text/html",
            },
            timeout=SEARCH_TIMEOUT,
            max_bytes=MAX_RESPONSE_BYTES,
        )
        if response.status in _REFUSALS:
            wait = retry_hint(response.headers) or "; try again later"
            raise ToolError(f"DuckDuckGo refused the search ({response.status}){wait}.")
        if response.status != 200:
            raise ToolError(f"DuckDuckGo answered {response.status}: no results.")
        return await asyncio.to_thread(_parse, response.body)


def _parse(body: bytes) -> tuple[list[dict[str, str]], Mapping[str, str] | None]:
    """Read a page. Raises ``ToolError`` if it is not a page of results."""
    from lxml import etree, html  # type: ignore[import-untyped]

    try:
        page = html.document_fromstring(body, parser=html.HTMLParser(encoding="utf-8"))
    except (etree.ParserError, ValueError):
        raise ToolError("DuckDuckGo answered with an empty page.") from None
    if page.find_class("anomaly-modal") or page.xpath("//form[@id='challenge-form']"):
        raise ToolError("DuckDuckGo refused the search as automated; try again later.")
    results = page.find_class("result")
    if not results and not page.find_class("no-results"):
        raise ToolError("DuckDuckGo answered with a page that has no list of results.")
    rows = [row for row in map(_row, results) if row is not None]
    return rows, _next_page(page)


def _row(result: Any) -> dict[str, str] | None:
    """Title, URL and text of a result; None for an advertisement."""
    links = result.find_class("result__a")
    if not links or "result--ad" in result.get("class", "").split():
        return None
    text = next(iter(result.find_class("result__snippet")), None)
    return {
        "title": links[0].text_content(),
        "url": _target(links[0].get("href", "")),
        "text": "" if text is None else text.text_content(),
    }


def _target(link: str) -> str:
    """The address that a link through DuckDuckGo's own page leads to; empty for its own pages."""
    parts = urlsplit(link if "//" in link else f"//{link}", "https")
    if not (parts.hostname or "").endswith("duckduckgo.com"):
        return link
    return parse_qs(parts.query).get("uddg", [""])[0] if parts.path == "/l/" else ""


def _next_page(page: Any) -> Mapping[str, str] | None:
    """The fields of the form for the next page; without ``vqd`` it would be refused."""
    for form in page.forms:
        fields = {name: value or "" for name, value in form.form_values() if name}
        if fields.get("vqd") and fields.get("s"):
            return fields
    return None
