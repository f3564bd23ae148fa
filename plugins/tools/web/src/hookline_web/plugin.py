"""The plugin: two tools, and the doctor's look at who searches."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.metadata import version

from hookline_hookspecs import (
    Check,
    CheckResult,
    Context,
    Effect,
    Origin,
    Plugin,
    Refused,
    Tool,
    ToolError,
    ToolOutput,
    hookimpl,
)

from .config import WebConfig
from .fetch import Fetcher, Format
from .search import Choice, Found, choose
from .search.results import MAX_QUERY, MAX_WORDS

KIND = "web"
"""The kind under which what the web says passes the gate ``pre_read``."""
MOST = 20
"""Results of one search."""


class Web(Plugin[WebConfig]):
    """Reads web pages and searches the web."""

    _fetcher: Fetcher
    _choice: Choice

    @hookimpl
    def register_tools(self, register: Callable[[Tool], None]) -> None:
        """``web_fetch``, and ``web_search`` if somebody searches: nothing else costs tokens."""
        ttl = self.config.cache_seconds or None
        header = self.config.user_agent or f"Hookline/{version('hookline-web')}"
        self._fetcher = Fetcher(self.host, self.config, header)
        register(
            Tool.from_function(
                self.web_fetch,
                read_only=True,
                cache_ttl=ttl,
                origin="outside",
                effects=lambda ctx, call: [Effect("network", str(call.arguments.get("url", "")))],
            )
        )
        self._choice = choose(self.config, os.environ | dict(self.host.env))
        if self._choice.backend is not None:
            register(
                Tool.from_function(self.web_search, read_only=True, cache_ttl=ttl, origin="outside")
            )

    async def web_fetch(self, ctx: Context, url: str, format: Format | None = None) -> ToolOutput:  # noqa: A002
        """Read a public web page, JSON or text file."""
        found = await self._fetcher.fetch(ctx, url, format or "markdown")
        origins = tuple(Origin("outside", one) for one in dict.fromkeys((found.url, url.strip())))
        return ToolOutput(found.text, notes=found.notes, origins=origins)

    async def web_search(self, ctx: Context, query: str, limit: int = 5) -> str:
        """Search the web: titles, URLs and excerpts."""
        backend = self._choice.backend
        query = " ".join(query.split())
        if not query:
            raise ToolError("the query is empty; say what to look for")
        if len(query) > MAX_QUERY or len(query.split(" ")) > MAX_WORDS:
            raise ToolError(
                f"the query is too long; use at most {MAX_WORDS} words and {MAX_QUERY} characters"
            )
        if backend is None:
            raise ToolError(f"{self._choice.reason}; the operator has to set it up")
        found = await backend.search(query, max(1, min(limit, MOST)))
        entries = [await self._entry(ctx, number, one) for number, one in enumerate(found, 1)]
        return "\n\n".join(entries) or f"{backend.name} found nothing for: {query}"

    async def _entry(self, ctx: Context, number: int, found: Found) -> str:
        """A result as the model reads it; one that the gate refuses does not take the others."""
        text = f"{found.title}\n{found.snippet}".strip()
        try:
            text = await ctx.read(text, found.url, KIND)
        except Refused as refusal:
            text = f"[left out: {refusal}]"
        return f"{number}. {found.url}\n{text}"

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """The doctor tells who searches."""
        register(Check("web search", self._check))

    def _check(self) -> CheckResult:
        choice = choose(self.config, os.environ | dict(self.host.env))
        if choice.backend is not None:
            return CheckResult(True, f"{choice.backend.name} searches")
        named = self.config.search not in ("auto", "none")
        fix = "" if self.config.search == "none" else _FIX
        return CheckResult(not named, f"{choice.reason}; web_search is not offered", fix, not named)


_FIX = (
    "Set SEARXNG_BASE_URL, BRAVE_API_KEY or TAVILY_API_KEY in the environment, or "
    "searxng_base_url, brave_api_key or tavily_api_key under plugins.web in config.yaml."
)
