"""The query to the OSV API, page by page: ``POST /v1/query`` (google.github.io/osv.dev)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hookline_hookspecs import Http, ToolError

MAX_BYTES = 33_554_432
"""The largest response of the service over HTTP/1.1 (google.github.io/osv.dev, "Pagination")."""


@dataclass(frozen=True, slots=True)
class Response:
    """Status, headers with names in lower case, and the body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


Post = Callable[[str, dict[str, Any], float], Awaitable[Response]]
"""Posts JSON to a URL, within so many seconds."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Advisories as the service sent them. ``whole`` is False where there are more pages."""

    advisories: list[Mapping[str, Any]]
    whole: bool


async def ask(
    post: Post, base_url: str, query: Mapping[str, Any], *, max_pages: int, seconds: float
) -> Answer:
    """Every page of the answer to ``query``, at most ``max_pages``.

    Raises:
        ToolError: the service refuses, is out of order, too slow, or answers what is no answer.
    """
    url = base_url.rstrip("/") + "/v1/query"
    found: list[Mapping[str, Any]] = []
    token = ""
    try:
        async with asyncio.timeout(seconds):
            for _ in range(max_pages):
                asked = {**query, "page_token": token} if token else dict(query)
                page = _page(await post(url, asked, seconds), url)
                found += [one for one in page.get("vulns") or () if isinstance(one, Mapping)]
                token = str(page.get("next_page_token") or "")
                if not token:
                    return Answer(found, whole=True)
    except TimeoutError:
        raise ToolError(f"{url} took longer than {seconds:g} s; try again later") from None
    return Answer(found, whole=False)


def _page(response: Response, url: str) -> Mapping[str, Any]:
    """The decoded body of a good response. Raises ``ToolError`` for any other."""
    if response.status != 200:
        raise ToolError(_refusal(response, url))
    try:
        page = json.loads(response.body)
    except (ValueError, RecursionError):
        page = None
    vulns = page.get("vulns") if isinstance(page, Mapping) else 0
    if not isinstance(page, Mapping) or not isinstance(vulns, (list, type(None))):
        raise ToolError(f"{url} answered something that is no OSV answer; check base_url")
    return page


def _refusal(response: Response, url: str) -> str:
    status = response.status
    if status == 400:
        return f"OSV refused the query: {_message(response.body) or 'no reason given'}"
    if status == 404:
        return f"there is no OSV API at {url} (404); check plugins.osv.base_url"
    if status == 429:
        wait = response.headers.get("retry-after", "")
        when = f"in {wait} s" if wait.isdigit() else "in a minute"
        return f"OSV has had too many requests from here (429); try again {when}"
    if status >= 500:
        return f"OSV is out of order ({status}); the check was not made, try again later"
    return f"{url} answered {status}: {_message(response.body) or 'no reason given'}"


def _message(body: bytes) -> str:
    """The reason in an error's body, ``{"code": 3, "message": …}``, in one bounded line."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    text = data.get("message") if isinstance(data, Mapping) else ""
    return " ".join(text.split())[:200] if isinstance(text, str) else ""


def guarded(http: Http) -> Post:
    """Posts through the guarded client: for the public service."""

    async def post(url: str, data: dict[str, Any], seconds: float) -> Response:
        answer = await http.request("POST", url, json=data, timeout=seconds, max_bytes=MAX_BYTES)
        return Response(answer.status, answer.headers, answer.body)

    return post


async def direct(url: str, data: dict[str, Any], seconds: float) -> Response:
    """Posts to the operator's own service, which may have a private address."""
    import httpx2

    try:
        async with (
            httpx2.AsyncClient(timeout=seconds, trust_env=False) as client,
            client.stream("POST", url, json=data) as answer,
        ):
            body = bytearray()
            async for piece in answer.aiter_bytes():
                body += piece
                if len(body) > MAX_BYTES:
                    raise ToolError(f"{url} sends more than {MAX_BYTES} bytes; that is refused")
            headers = {name.lower(): value for name, value in answer.headers.items()}
            return Response(answer.status_code, headers, bytes(body))
    except httpx2.TimeoutException:
        raise TimeoutError from None
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise ToolError(f"{url} cannot be asked: {error or type(error).__name__}") from None
