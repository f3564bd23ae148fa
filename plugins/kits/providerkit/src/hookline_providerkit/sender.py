"""Ready bodies on an SDK's client, without the SDK's way of making a request of each.

An SDK checks options, merges headers and joins addresses anew for each request, which takes as long
as half of sending it. All that differs between two requests to one place is the body.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx2

_OF_ONE = (b"content-length", b"cookie", b"x-stainless-retry-count")
"""Headers of one request alone."""


@dataclass(frozen=True, slots=True)
class _Place:
    """What all requests to one place have in common."""

    url: httpx2.URL
    headers: list[tuple[bytes, bytes]]
    extensions: Mapping[str, Any]

    @classmethod
    def of(cls, request: httpx2.Request) -> _Place:
        """What ``request`` shows of it."""
        headers = [field for field in request.headers.raw if field[0].lower() not in _OF_ONE]
        return cls(request.url, headers, request.extensions)


class Sender:
    """A client of an SDK.

    It makes and sends the first request to a place. The following ones are that request with
    another body, on the same connections, and fail with the SDK's own errors.

    Args:
        sdk: the SDK's asynchronous client, with ``max_retries=0``.
        http: the HTTP client that it was given.
        module: ``openai`` or ``anthropic``, whose names are the same.
    """

    def __init__(self, sdk: Any, http: httpx2.AsyncClient, module: Any) -> None:
        self.sdk = sdk
        self._http = http
        self._module = module
        self._known: dict[tuple[str, bool], _Place] = {}

    async def post(
        self, path: str, body: bytes, headers: Mapping[str, str], *, stream: bool
    ) -> httpx2.Response:
        """Send JSON. A streamed response is still to be read and closed; any other has been.

        Raises:
            APIError: of the SDK, as its own ``post`` does.
            Exception: whatever else the SDK raises where no request can be made.
        """
        known = self._known.get((path, stream))
        if known is not None:
            return await self._again(known, body, headers, stream)
        response = await self._first(path, body, headers, stream)
        self._known[path, stream] = _Place.of(response.request)
        return response

    async def close(self) -> None:
        """Close the connections."""
        await self.sdk.close()

    async def _first(
        self, path: str, body: bytes, headers: Mapping[str, str], stream: bool
    ) -> httpx2.Response:
        import httpx2

        given: dict[str, Any] = {"cast_to": httpx2.Response}
        if stream:
            kind = self._module.AsyncStream[object]
            given = {"cast_to": object, "stream": True, "stream_cls": kind}
        options = {"headers": {"Content-Type": "application/json", **headers}}
        answer = await self.sdk.post(path, content=body, options=options, **given)
        response: httpx2.Response = answer.response if stream else answer
        return response

    async def _again(
        self, place: _Place, body: bytes, headers: Mapping[str, str], stream: bool
    ) -> httpx2.Response:
        import httpx2

        own = {**headers, "Content-Length": str(len(body))}
        request = httpx2.Request(
            "POST",
            place.url,
            headers=[*place.headers, *((k.encode(), v.encode()) for k, v in own.items())],
            cookies=self._http.cookies,
            stream=httpx2.ByteStream(body),
            extensions=place.extensions,
        )
        try:
            response = await self._http.send(request, stream=stream)
        except httpx2.TimeoutException as error:
            raise self._module.APITimeoutError(request=request) from error
        except Exception as error:
            raise self._module.APIConnectionError(request=request) from error
        if not response.is_success:
            raise await self._refusal(response)
        return response

    async def _refusal(self, response: httpx2.Response) -> Exception:
        await response.aread()
        body: Any = response.text.strip()
        with suppress(ValueError, RecursionError):
            body = json.loads(body)
        said = body.get("error", body) if isinstance(body, dict) else body
        text = f"Error code: {response.status_code}"
        error: Exception = self._module.APIStatusError(text, response=response, body=said)
        return error
