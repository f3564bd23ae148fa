"""One request to a service that the operator chose. It does not go through ``host.http``: such an
address may well be private, and nobody but the operator can choose it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from hookline_hookspecs import ToolError

from ..waiting import asked_to_wait

MAX_BYTES = 2_000_000
"""Of an answer, decompressed."""
SECONDS = 15.0
"""For a whole request."""


async def ask(
    service: str,
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    hints: Mapping[int, str] | None = None,
    **options: Any,
) -> Mapping[str, Any]:
    """The JSON object that the service answers with.

    hints: by HTTP status, what the operator can do about it. options: ``params`` or ``json``.
    Redirects are not followed, so that no key goes elsewhere. Raises ToolError with a sentence
    that names the service and holds no key.
    """
    import httpx2

    try:
        async with (
            asyncio.timeout(SECONDS),
            httpx2.AsyncClient(timeout=SECONDS, follow_redirects=False) as client,
            client.stream(method, url, headers=dict(headers or {}), **options) as response,
        ):
            if response.status_code != 200:
                raise ToolError(_failure(service, response, hints or {}))
            data = await _bounded(service, response)
    except TimeoutError:
        raise ToolError(f"{service} took longer than {SECONDS:g} s to search.") from None
    except (httpx2.LocalProtocolError, UnicodeEncodeError):
        told = "its key or address holds characters that HTTP cannot carry; check them"
        raise ToolError(f"{service} cannot be asked: {told} under plugins.web.") from None
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
        reason = type(error).__name__
        raise ToolError(f"{service} cannot be reached ({reason}); try again later.") from None
    try:
        answer = json.loads(data)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise ToolError(f"{service} answered with something that is not its JSON.")
    return answer


async def _bounded(service: str, response: Any) -> bytes:
    data = bytearray()
    async for chunk in response.aiter_bytes():
        data += chunk
        if len(data) > MAX_BYTES:
            raise ToolError(f"{service} answered with more than {MAX_BYTES:,} bytes.")
    return bytes(data)


def _failure(service: str, response: Any, hints: Mapping[int, str]) -> str:
    status = response.status_code
    if status == 429:
        wait = asked_to_wait(response.headers) or "; try again later"
        return f"{service} wants fewer requests (429){wait}."
    common = {401: "its key is missing or wrong: the operator has to correct it"}
    what = hints.get(status) or common.get(status)
    if what is None:
        what = "it is in trouble, try again later" if status >= 500 else "it did not search"
    return f"{service} answered {status}: {what}."
