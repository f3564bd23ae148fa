"""Generates and describes images: the services ``image`` and ``vision``."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from hookline_hookspecs import BadRequest, Host, NetworkError
from hookline_hookspecs.image_kinds import ImageKind, image_kind

from .endpoints import ServiceEndpoint
from .failures import no_answer
from .service_client import MAX_TEXT_BYTES, ServiceClient

if TYPE_CHECKING:
    from openai import AsyncOpenAI

IMAGE_URL_TIMEOUT = 60.0
"""Seconds to fetch an image that the service names by a URL elsewhere."""


class ImageService:
    """Requests to the services ``image`` and ``vision``."""

    def __init__(self, host: Host, client: ServiceClient, max_bytes: int) -> None:
        self._host = host
        self._client = client
        self._max_bytes = max_bytes

    async def generate(
        self, prompt: str, dimensions: str | None, model: str | None
    ) -> tuple[bytes, ImageKind]:
        """Generate an image. ``dimensions`` such as ``1024x1024``; None: the service chooses."""
        endpoint = self._client.require("image")
        options: dict[str, Any] = {"size": dimensions} if dimensions else {}

        def request(client: AsyncOpenAI, headers: Mapping[str, str]) -> Any:
            images = client.images.with_streaming_response
            return images.generate(
                model=model or endpoint.model, prompt=prompt, extra_headers=headers, **options
            )

        # Base64 takes four bytes for three, and there is some JSON around it.
        answer = await self._client.send(endpoint, request, self._max_bytes * 4 // 3 + 100_000)
        data = await self._first_image(endpoint, answer)
        kind = image_kind(data)
        if kind is None:
            raise no_answer("a PNG, JPEG, GIF or WebP picture", data, endpoint)
        return data, kind

    async def _first_image(self, endpoint: ServiceEndpoint, answer: bytes) -> bytes:
        """The first image of an answer, which contains it or its URL."""
        try:
            first = json.loads(answer)["data"][0]
            encoded, url = first.get("b64_json"), first.get("url")
            if encoded:
                return base64.b64decode(encoded, validate=True)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise no_answer("a picture", answer, endpoint) from None
        if not isinstance(url, str):
            raise no_answer("a picture", answer, endpoint)
        if urlsplit(url)[:2] == urlsplit(endpoint.base_url)[:2]:
            # The operator's own server, which may have a private address.
            return await self._client.fetch(endpoint, url, self._max_bytes)
        response = await self._host.http.get(
            url, max_bytes=self._max_bytes, timeout=IMAGE_URL_TIMEOUT
        )
        if response.status != 200:
            raise NetworkError(f"The picture could not be fetched: {url[:200]}, {response.status}.")
        return response.body

    async def describe(self, data: bytes, kind: ImageKind, prompt: str) -> str:
        """The vision model's answer to ``prompt`` about an image."""
        endpoint = self._client.require("vision")
        url = f"data:{kind.mime};base64,{base64.b64encode(data).decode('ascii')}"
        parts: Any = [
            {"type": "text", "text": prompt},
            {"type": "image_url", "image_url": {"url": url}},
        ]

        def request(client: AsyncOpenAI, headers: Mapping[str, str]) -> Any:
            chat = client.chat.completions.with_streaming_response
            return chat.create(
                model=endpoint.model,
                messages=[{"role": "user", "content": parts}],
                extra_headers=headers,
            )

        answer = await self._client.send(endpoint, request, MAX_TEXT_BYTES)
        try:
            message = json.loads(answer)["choices"][0]["message"]
            text, refusal = message.get("content"), message.get("refusal")
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise no_answer("a description", answer, endpoint) from None
        if isinstance(text, str) and text.strip():
            return text.strip()
        if isinstance(refusal, str) and refusal:
            raise BadRequest(f"The vision service refused the content: {refusal[:300]}")
        raise no_answer("a description", b"", endpoint)
