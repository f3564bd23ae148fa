"""Fetches one page, within the site's rules and the limits, and converts it into text."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass
from typing import Literal

from hookline_hookspecs import Context, Host, HttpResponse, ToolError

from .config import WebConfig
from .content import Kind, content_kind, decode_text
from .retry_after import retry_hint
from .robots import RobotsRules

Format = Literal["markdown", "text", "html"]

_MAX_CHUNK_BYTES = 1 << 20  # The largest chunk of a response.
_ACCEPT = "text/markdown, text/html;q=0.9, application/json;q=0.9, text/plain;q=0.8, */*;q=0.1"

_STATUS_REASONS = {
    401: "it needs a login",
    403: "programs are not allowed",
    404: "there is no such page",
    410: "the page was removed",
    429: "too many requests",
}


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """The text of a page in the requested format, and notes about it.

    ``url`` is that of the page after all redirects.
    """

    text: str
    notes: tuple[str, ...]
    url: str


@dataclass(frozen=True, slots=True)
class _PageBody:
    data: bytes
    cut: bool
    content_type: str
    kind: Kind | None
    url: str


class PageFetcher:
    """Fetches pages through the host's guarded client, with the given ``User-Agent``."""

    def __init__(self, host: Host, config: WebConfig, user_agent: str) -> None:
        self._host = host
        self._config = config
        self._user_agent = user_agent
        self._robots = RobotsRules(host.http, user_agent, config.robots_seconds, host.now)

    async def fetch(self, ctx: Context, url: str, form: Format) -> FetchedPage:
        """Fetch `url`.

        Raises:
            Refused: the address, robots.txt or ``pre_read`` is against it.
            HooklineError: the page could not be read; the message says why.
        """
        body = await self._body(url)
        try:
            text, kind = decode_text(body.data, body.content_type, body.kind)
        except ToolError as error:
            raise ToolError(f"{body.url} was not read: {error}") from None
        cut = body.cut
        if kind == "html" and form != "html":
            text, shortened = await asyncio.to_thread(_convert, text, body.url, form)
            cut = cut or shortened
        notes = [f"this is {body.url}"] if body.url != url else []
        if cut:
            notes.append("the page is too long; its end is missing")
        left_out = len(text) - self._config.max_chars
        if left_out > 0:
            text = text[: self._config.max_chars]
            notes.append(f"the last {left_out:,} characters were left out")
        if not text.strip():
            return FetchedPage("(the page has no text; it may need a browser)", (*notes,), body.url)
        return FetchedPage(await ctx.read(text, body.url, "web"), (*notes,), body.url)

    async def _body(self, url: str) -> _PageBody:
        config = self._config
        async with self._host.http.stream(
            "GET",
            url,
            headers={"user-agent": self._user_agent, "accept": _ACCEPT},
            timeout=config.timeout,
            max_bytes=config.max_bytes + 2 * _MAX_CHUNK_BYTES,
            before=self._robots.require_allowed if config.robots else None,
        ) as response:
            if not 200 <= response.status < 300:
                raise ToolError(_status_error(response))
            content_type = response.headers.get("content-type", "")
            try:
                kind = content_kind(content_type)
            except ToolError as error:
                raise ToolError(f"{response.url} was not read: {error}") from None
            data, cut = await _read_up_to(response, config.max_bytes)
            return _PageBody(data, cut, content_type, kind, response.url)


async def _read_up_to(response: HttpResponse, limit: int) -> tuple[bytes, bool]:
    """Read the first `limit` bytes of the body; the second value says whether there are more."""
    data = bytearray()
    async with aclosing(response.chunks()) as chunks:
        async for chunk in chunks:
            data += chunk
            if len(data) > limit:
                return bytes(data[:limit]), True
    return bytes(data), False


def _status_error(response: HttpResponse) -> str:
    default = "the server failed" if response.status >= 500 else "no page"
    reason = _STATUS_REASONS.get(response.status, default)
    hint = retry_hint(response.headers)
    return f"{response.url} answered {response.status}: {reason}{hint}."


def _convert(html: str, url: str, form: Format) -> tuple[str, bool]:
    """Convert the page; the second value says whether its end is missing."""
    from .html import HtmlPage

    page = HtmlPage(html, url)
    return (page.markdown() if form == "markdown" else page.text()), page.cut
