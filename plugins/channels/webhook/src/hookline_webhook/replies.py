"""Replies on their way out: POSTed to ``reply_url``, signed, one at a time from core's outbox.

The address is the operator's own, so that it does not go through ``host.http``, which refuses
private ones. Nothing is retried here: core's outbox does, with the same id, until a 2xx.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import Audio, HooklineError, Reply

from .signing import HEADER, signature

if TYPE_CHECKING:
    import httpx2

LONGEST_WAIT = 300.0
"""Seconds of a ``Retry-After`` that are waited for at most."""


class NotTaken(HooklineError):
    """The reply was not confirmed; it will be sent again."""


class Replies:
    """Posts replies.

    Args:
        url: where to.
        secret: the key of the signature.
        timeout: seconds for one POST.
    """

    def __init__(self, url: str, secret: bytes, timeout: float) -> None:
        self._url = url
        self._secret = secret
        self._timeout = timeout
        self._client: httpx2.AsyncClient | None = None

    async def post(self, reply: Reply) -> None:
        """Post a reply. Raises :class:`NotTaken` unless it is confirmed by a 2xx, after the time
        that the server asks for by ``Retry-After``."""
        import httpx2

        body = encoded(reply)
        headers = {"Content-Type": "application/json", HEADER: signature(self._secret, body)}
        try:
            response = await self._http().post(self._url, content=body, headers=headers)
        except (httpx2.HTTPError, OSError) as error:
            reason = str(error) or type(error).__name__
            raise NotTaken(f"reply_url cannot be reached ({reason})") from None
        if response.is_success:
            return
        await asyncio.sleep(wanted_wait(response.headers, time.time()))
        raise NotTaken(f"reply_url answered {response.status_code}, not 2xx")

    def _http(self) -> httpx2.AsyncClient:
        """The client; it follows no redirect, so that a signed body goes nowhere else."""
        if self._client is None:
            import httpx2

            self._client = httpx2.AsyncClient(
                timeout=self._timeout, follow_redirects=False, trust_env=False
            )
        return self._client

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.aclose()


def encoded(reply: Reply) -> bytes:
    """The body of a reply (CONTRACT, Webhook). ``attachments`` is there only if there are some."""
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


def wanted_wait(headers: Mapping[str, str], now: float) -> float:
    """Seconds that ``Retry-After`` asks for (RFC 9110, 10.2.3), at most :data:`LONGEST_WAIT`."""
    given = headers.get("retry-after", "").strip()
    if given.isascii() and given.isdecimal():
        return min(float(given[:9]), LONGEST_WAIT)
    try:
        until = parsedate_to_datetime(given).timestamp()
    except (TypeError, ValueError, OverflowError):
        return 0.0
    return min(max(0.0, until - now), LONGEST_WAIT)
