"""The query to the OSV API, page by page: ``POST /v1/query`` (google.github.io/osv.dev)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hookline_hookspecs import Http, ToolError
from hookline_hookspecs.certificates import certificates_fault

MAX_BODY_BYTES = 33_554_432
"""Largest response of the service over HTTP/1.1 (google.github.io/osv.dev, "Pagination")."""


@dataclass(frozen=True, slots=True)
class OsvResponse:
    """Status, headers with names in lower case, and the body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


PostJson = Callable[[str, dict[str, Any], float], Awaitable[OsvResponse]]
"""Posts JSON to a URL with a timeout in seconds. Raises ``TimeoutError``."""


@dataclass(frozen=True, slots=True)
class OsvAnswer:
    """Advisories as the service sent them. ``whole`` is False if there are more pages."""

    advisories: list[Mapping[str, Any]]
    whole: bool


async def query_osv(
    post: PostJson, base_url: str, query: Mapping[str, Any], *, max_pages: int, seconds: float
) -> OsvAnswer:
    """Fetch the pages of the answer to ``query``, at most ``max_pages``.

    Raises:
        ToolError: the service refuses, fails, is too slow, or its answer is not one of OSV.
    """
    url = base_url.rstrip("/") + "/v1/query"
    advisories: list[Mapping[str, Any]] = []
    token = ""
    try:
        async with asyncio.timeout(seconds):
            for _ in range(max_pages):
                body = {**query, "page_token": token} if token else dict(query)
                page = _decode_page(await post(url, body, seconds), url)
                advisories += [
                    item for item in page.get("vulns") or () if isinstance(item, Mapping)
                ]
                token = str(page.get("next_page_token") or "")
                if not token:
                    return OsvAnswer(advisories, whole=True)
    except TimeoutError:
        raise ToolError(f"{url} took longer than {seconds:g} s; try again later") from None
    return OsvAnswer(advisories, whole=False)


def _decode_page(response: OsvResponse, url: str) -> Mapping[str, Any]:
    """The decoded body of a good response. Raises ``ToolError`` for any other."""
    if response.status != 200:
        raise ToolError(_error_text(response, url))
    try:
        page = json.loads(response.body)
    except (ValueError, RecursionError):
        page = None
    vulns = page.get("vulns") if isinstance(page, Mapping) else 0
    if not isinstance(page, Mapping) or not isinstance(vulns, (list, type(None))):
        raise ToolError(f"{url} did not return an OSV answer; check base_url")
    return page


def _error_text(response: OsvResponse, url: str) -> str:
    status = response.status
    if status == 400:
        return f"OSV refused the query: {_error_message(response.body) or 'no reason given'}"
    if status == 404:
        return f"no OSV API at {url} (404); check plugins.osv.base_url"
    if status == 429:
        wait = response.headers.get("retry-after", "")
        when = f"in {wait} s" if wait.isdigit() else "in a minute"
        return f"OSV has had too many requests from here (429); try again {when}"
    if status >= 500:
        return f"OSV failed ({status}); the check was not made, try again later"
    return f"{url} answered {status}: {_error_message(response.body) or 'no reason given'}"


def _error_message(body: bytes) -> str:
    """The message in an error's body, ``{"code": 3, "message": …}``, as one short line."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    text = data.get("message") if isinstance(data, Mapping) else ""
    return " ".join(text.split())[:200] if isinstance(text, str) else ""


def guarded_post(http: Http) -> PostJson:
    """Return a function that posts through the guarded client, for the public service."""

    async def post(url: str, data: dict[str, Any], seconds: float) -> OsvResponse:
        answer = await http.request(
            "POST", url, json=data, timeout=seconds, max_bytes=MAX_BODY_BYTES
        )
        return OsvResponse(answer.status, answer.headers, answer.body)

    return post


async def direct_post(url: str, data: dict[str, Any], seconds: float) -> OsvResponse:
    """Post to the operator's own service, which may have a private address."""
    import httpx2

    if fault := certificates_fault():
        raise ToolError(f"{fault}.")
    certificates = httpx2.create_ssl_context()
    try:
        async with (
            httpx2.AsyncClient(timeout=seconds, trust_env=False, verify=certificates) as client,
            client.stream("POST", url, json=data) as answer,
        ):
            body = bytearray()
            async for piece in answer.aiter_bytes():
                body += piece
                if len(body) > MAX_BODY_BYTES:
                    raise ToolError(f"{url} sent more than {MAX_BODY_BYTES} bytes")
            headers = {name.lower(): value for name, value in answer.headers.items()}
            return OsvResponse(answer.status_code, headers, bytes(body))
    except httpx2.TimeoutException:
        raise TimeoutError from None
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        raise ToolError(f"{url} cannot be reached: {error or type(error).__name__}") from None
