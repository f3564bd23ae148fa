"""One page: asked for, within its site's rules and the limits, and turned into text."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass
from typing import Literal

from hookline_hookspecs import Context, Host, HttpResponse, ToolError

from .config import WebConfig
from .content import Kind, kind_of, text_of
from .robots import Robots
from .waiting import asked_to_wait

Format = Literal["markdown", "text", "html"]

_CHUNK = 1 << 20  # The largest piece that a response comes in.
_ACCEPT = "text/markdown, text/html;q=0.9, application/json;q=0.9, text/plain;q=0.8, */*;q=0.1"


@dataclass(frozen=True, slots=True)
class Fetched:
    """The text of a page in the format that was asked for, and what is to be said about it.

    ``url`` is the page's own, after all redirects.
    """

    text: str
    notes: tuple[str, ...]
    url: str


@dataclass(frozen=True, slots=True)
class _Body:
    data: bytes
    cut: bool
    content_type: str
    kind: Kind | None
    url: str


class Fetcher:
    """Fetches pages by the host's guarded client.

    header: the ``User-Agent`` of its requests.
    """

    def __init__(self, host: Host, config: WebConfig, header: str) -> None:
        self._host = host
        self._config = config
        self._header = header
        self._robots = Robots(host.http, header, config.robots_seconds, host.now)

    async def fetch(self, ctx: Context, url: str, form: Format) -> Fetched:
        """The text of `url`.

        Raises:
            Refused: an address, robots.txt or a plugin's gate says no.
            HooklineError: it did not work; the sentence says what.
        """
        body = await self._body(url)
        try:
            text, kind = text_of(body.data, body.content_type, body.kind)
        except ToolError as error:
            raise ToolError(f"{body.url} was not read: {error}") from None
        cut = body.cut
        if kind == "html" and form != "html":
            text, shortened = await asyncio.to_thread(_converted, text, body.url, form)
            cut = cut or shortened
        notes = [f"this is {body.url}"] if body.url != url else []
        if cut:
            notes.append("the page is longer than what is read of one; its end is missing")
        left_out = len(text) - self._config.max_chars
        if left_out > 0:
            text = text[: self._config.max_chars]
            notes.append(f"the last {left_out:,} characters were left out")
        if not text.strip():
            return Fetched("(the page holds no text; it may need a browser)", (*notes,), body.url)
        return Fetched(await ctx.read(text, body.url, "web"), (*notes,), body.url)

    async def _body(self, url: str) -> _Body:
        config = self._config
        async with self._host.http.stream(
            "GET",
            url,
            headers={"user-agent": self._header, "accept": _ACCEPT},
            timeout=config.timeout,
            max_bytes=config.max_bytes + 2 * _CHUNK,
            before=self._robots.require if config.robots else None,
        ) as response:
            if not 200 <= response.status < 300:
                raise ToolError(_status(response))
            content_type = response.headers.get("content-type", "")
            try:
                kind = kind_of(content_type)
            except ToolError as error:
                raise ToolError(f"{response.url} was not read: {error}") from None
            data, cut = await _start(response, config.max_bytes)
            return _Body(data, cut, content_type, kind, response.url)


async def _start(response: HttpResponse, limit: int) -> tuple[bytes, bool]:
    """The first `limit` bytes of the body, and whether there are more."""
    data = bytearray()
    async with aclosing(response.chunks()) as chunks:
        async for chunk in chunks:
            data += chunk
            if len(data) > limit:
                return bytes(data[:limit]), True
    return bytes(data), False


def _status(response: HttpResponse) -> str:
    what = {
        401: "needs a login",
        403: "does not let programs in",
        404: "has no such page",
        410: "has no such page any more",
        429: "wants fewer requests",
    }.get(response.status, "is in trouble" if response.status >= 500 else "gave no page")
    return f"{response.url} answered {response.status}: it {what}{asked_to_wait(response.headers)}."


def _converted(html: str, url: str, form: Format) -> tuple[str, bool]:
    """The page in that format, and whether its end is missing."""
    from .html import Page

    page = Page(html, url)
    return (page.markdown() if form == "markdown" else page.text()), page.cut
