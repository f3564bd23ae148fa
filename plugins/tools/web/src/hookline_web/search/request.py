"""One request to a search service. It does not go through ``host.http``, because only the operator
chooses the address, which may be private."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from hookline_hookspecs import ToolError
from hookline_hookspecs.certificates import certificates_fault

from ..retry_after import retry_hint

MAX_RESPONSE_BYTES = 2_000_000
"""Bytes of an answer, decompressed."""
SEARCH_TIMEOUT = 15.0
"""Seconds for a whole request."""


async def request_json(
    service: str,
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    hints: Mapping[int, str] | None,
    **options: Any,
) -> Mapping[str, Any]:
    """Send a request and return the JSON object of the answer.

    Redirects are not followed, so that no key goes elsewhere.

    Args:
        service: its name, for errors.
        hints: by HTTP status, what the operator can do.
        options: ``params`` or ``json``.

    Raises:
        ToolError: the request failed; the message contains no key.
    """
    import httpx2

    if fault := certificates_fault():
        raise ToolError(f"{fault}.")
    try:
        async with (
            asyncio.timeout(SEARCH_TIMEOUT),
            httpx2.AsyncClient(timeout=SEARCH_TIMEOUT, follow_redirects=False) as client,
            client.stream(method, url, headers=dict(headers or {}), **options) as response,
        ):
            if response.status_code != 200:
                raise ToolError(_error_text(service, response, hints or {}))
            data = await _read_body(service, response)
    except TimeoutError:
        raise ToolError(f"{service} took longer than {SEARCH_TIMEOUT:g} s to search.") from None
    except (httpx2.LocalProtocolError, UnicodeEncodeError):
        raise ToolError(
            f"{service} cannot be asked: its key or address has characters that HTTP cannot "
            "carry; check them under plugins.web."
        ) from None
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


async def _read_body(service: str, response: Any) -> bytes:
    data = bytearray()
    async for chunk in response.aiter_bytes():
        data += chunk
        if len(data) > MAX_RESPONSE_BYTES:
            raise ToolError(f"{service} answered with more than {MAX_RESPONSE_BYTES:,} bytes.")
    return bytes(data)


def _error_text(service: str, response: Any, hints: Mapping[int, str]) -> str:
    status = response.status_code
    if status == 429:
        wait = retry_hint(response.headers) or "; try again later"
        return f"{service}: too many requests (429){wait}."
    common = {401: "its key is missing or wrong: the operator has to correct it"}
    what = hints.get(status) or common.get(status)
    if what is None:
        what = "the service failed, try again later" if status >= 500 else "no results"
    return f"{service} answered {status}: {what}."
