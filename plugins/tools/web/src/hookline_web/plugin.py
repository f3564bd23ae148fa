"""The plugin: two tools, and a check of the search service."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.metadata import version
from typing import Annotated

from hookline_hookspecs import (
    Check,
    CheckResult,
    Context,
    Origin,
    Plugin,
    Question,
    Recipient,
    Refused,
    Tool,
    ToolError,
    ToolOutput,
    hookimpl,
)

from .config import WebConfig
from .fetch import Format, PageFetcher
from .search import DuckDuckGo, SearchChoice, SearchHit, SearchService, choose_service, engine_query
from .search.results import MAX_QUERY_CHARS, MAX_QUERY_WORDS

READ_KIND = "web"
"""The kind of text, for ``pre_read``."""
MAX_RESULTS = 20
ENGINE_RESULTS = 10
"""Results in place of a search engine's page."""
YES, NO = "Yes, search with DuckDuckGo", "No"
_CONSENT = "duckduckgo"
_INSTEAD = "these are DuckDuckGo's results for the words in the address, instead of the page"


class Web(Plugin[WebConfig]):
    """Reads web pages and searches the web."""

    _fetcher: PageFetcher
    _search_choice: SearchChoice

    @hookimpl
    def register_tools(self, register: Callable[[Tool], None]) -> None:
        """Register ``web_fetch``, and ``web_search`` only if a search service is configured."""
        ttl = self.config.cache_seconds or None
        self._fetcher = PageFetcher(self.host, self.config, self._user_agent)
        register(
            Tool.from_function(
                self.web_fetch,
                read_only=True,
                cache_ttl=ttl,
                origin="outside",
                effects=("network",),
            )
        )
        self._search_choice = self._choice()
        if self._search_choice.service is not None:
            register(
                Tool.from_function(self.web_search, read_only=True, cache_ttl=ttl, origin="outside")
            )

    async def web_fetch(
        self,
        ctx: Context,
        url: Annotated[str, Recipient()],
        format: Format | None = None,  # noqa: A002
    ) -> ToolOutput:
        """Read a public web page, JSON or text file."""
        if (query := engine_query(url)) and await self._may_search_without_key(ctx):
            service = DuckDuckGo(self.host.http, self.config.duckduckgo_base_url, self._user_agent)
            text = await self._results(ctx, service, query, ENGINE_RESULTS)
            return ToolOutput(text, notes=(_INSTEAD,), origins=(Origin("outside", url.strip()),))
        page = await self._fetcher.fetch(ctx, url, format or "markdown")
        origins = tuple(
            Origin("outside", source) for source in dict.fromkeys((page.url, url.strip()))
        )
        return ToolOutput(page.text, notes=page.notes, origins=origins)

    async def web_search(self, ctx: Context, query: str, limit: int = 5) -> str:
        """Search the web: titles, URLs and excerpts."""
        service = self._search_choice.service
        query = " ".join(query.split())
        if not query:
            raise ToolError("the query is empty; say what to look for")
        if len(query) > MAX_QUERY_CHARS or len(query.split(" ")) > MAX_QUERY_WORDS:
            raise ToolError(
                f"the query is too long; use at most {MAX_QUERY_WORDS} words and "
                f"{MAX_QUERY_CHARS} characters"
            )
        if service is None:
            raise ToolError(f"{self._search_choice.reason}; the operator has to configure one")
        return await self._results(ctx, service, query, max(1, min(limit, MAX_RESULTS)))

    async def _results(self, ctx: Context, service: SearchService, query: str, limit: int) -> str:
        hits = await service.search(query, limit)
        entries = [await self._format_hit(ctx, number, hit) for number, hit in enumerate(hits, 1)]
        return "\n\n".join(entries) or f"{service.name} found nothing for: {query}"

    async def _may_search_without_key(self, ctx: Context) -> bool:
        """Whether the person wants DuckDuckGo, as no search service is configured; asked once."""
        if self.config.search != "auto" or self._search_choice.service is not None:
            return False
        kv = self.host.storage.kv
        answer = await kv.get(_CONSENT)
        if answer is None:
            question = Question(
                "Search with DuckDuckGo without a key? The words of searches are sent there.",
                choices=(YES, NO),
                kind="trust",
            )
            answer = await ctx.ask(question)
            if answer in (YES, NO):
                await kv.set(_CONSENT, answer)
        return bool(answer == YES)

    def _choice(self) -> SearchChoice:
        env = os.environ | dict(self.host.env)
        return choose_service(self.config, env, self.host.http, self._user_agent)

    @property
    def _user_agent(self) -> str:
        return self.config.user_agent or f"Hookline/{version('hookline-web')}"

    async def _format_hit(self, ctx: Context, number: int, hit: SearchHit) -> str:
        """A result as text; if ``pre_read`` refuses it, only this one is left out."""
        text = f"{hit.title}\n{hit.snippet}".strip()
        try:
            text = await ctx.read(text, hit.url, READ_KIND)
        except Refused as refusal:
            text = f"[left out: {refusal}]"
        return f"{number}. {hit.url}\n{text}"

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """Register the check of the search service."""
        register(Check("web search", self._check))

    def _check(self) -> CheckResult:
        choice = self._choice()
        if choice.service is not None:
            return CheckResult(True, f"search service: {choice.service.name}")
        named = self.config.search not in ("auto", "none")
        fix = "" if self.config.search == "none" else _FIX
        return CheckResult(not named, f"{choice.reason}; web_search is not offered", fix, not named)


_FIX = (
    "Set SEARXNG_BASE_URL, BRAVE_API_KEY or TAVILY_API_KEY in the environment, or "
    "searxng_base_url, brave_api_key or tavily_api_key under plugins.web in config.yaml. Without a "
    "key: `hookline config set plugins.web.search duckduckgo`."
)
