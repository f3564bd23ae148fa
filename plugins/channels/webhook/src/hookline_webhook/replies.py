"""Posts replies to ``reply_url``, signed, one at a time from core's outbox.

The operator chose the address, so it does not go through ``host.http``, which refuses private ones.
Nothing is retried here: core's outbox retries with the same id until a 2xx.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import Audio, HooklineError, Reply
from hookline_hookspecs.certificates import certificates_fault

from .signature import HEADER, signature

if TYPE_CHECKING:
    import httpx2

MAX_RETRY_AFTER = 300.0
"""Seconds waited for a ``Retry-After`` at most."""


class ReplyNotAccepted(HooklineError):
    """The server did not accept the reply; core will send it again."""


class ReplyPoster:
    """Posts replies.

    Args:
        url: the address.
        secret: the key of the signature.
        timeout: seconds for one POST.
    """

    def __init__(self, url: str, secret: bytes, timeout: float) -> None:
        self._url = url
        self._secret = secret
        self._timeout = timeout
        self._client: httpx2.AsyncClient | None = None

    async def post(self, reply: Reply) -> None:
        """Post a reply.

        Raises:
            ReplyNotAccepted: the answer was not 2xx; raised after the time in ``Retry-After``.
        """
        import httpx2

        body = reply_body(reply)
        headers = {"Content-Type": "application/json", HEADER: signature(self._secret, body)}
        try:
            response = await self._http().post(self._url, content=body, headers=headers)
        except (httpx2.HTTPError, OSError) as error:
            reason = str(error) or type(error).__name__
            raise ReplyNotAccepted(f"reply_url cannot be reached ({reason})") from None
        if response.is_success:
            return
        await asyncio.sleep(retry_after_seconds(response.headers, time.time()))
        raise ReplyNotAccepted(f"reply_url answered {response.status_code}, not 2xx")

    def _http(self) -> httpx2.AsyncClient:
        """Return the client. It follows no redirects, so that a signed body goes nowhere else."""
        if self._client is None:
            import httpx2

            if fault := certificates_fault():
                raise ReplyNotAccepted(fault)
            self._client = httpx2.AsyncClient(
                timeout=self._timeout,
                follow_redirects=False,
                trust_env=False,
                verify=httpx2.create_ssl_context(),
            )
        return self._client

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.aclose()


def reply_body(reply: Reply) -> bytes:
    """Return the body for a reply. It has ``attachments`` only if there are any."""
    data: dict[str, Any] = {
        "id": reply.id,
        "chat": reply.session.chat_id,
        "text": reply.text,
        "in_reply_to": reply.in_reply_to,
    }
    if reply.attachments:
        data["attachments"] = [
            {
                "path": str(item.path),
                "mime": item.mime,
                "name": item.path.name if isinstance(item, Audio) else item.name,
            }
            for item in reply.attachments
        ]
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def retry_after_seconds(headers: Mapping[str, str], now: float) -> float:
    """Return the seconds of ``Retry-After`` (RFC 9110, 10.2.3), at most :data:`MAX_RETRY_AFTER`."""
    value = headers.get("retry-after", "").strip()
    if value.isascii() and value.isdecimal():
        return min(float(value[:9]), MAX_RETRY_AFTER)
    try:
        until = parsedate_to_datetime(value).timestamp()
    except (TypeError, ValueError, OverflowError):
        return 0.0
    return min(max(0.0, until - now), MAX_RETRY_AFTER)
