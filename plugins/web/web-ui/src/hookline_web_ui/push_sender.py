"""Web Push (RFC 8030): the keys of this home, and sending an encrypted message to a browser.

``pywebpush`` encrypts a message (RFC 8291) and signs it (VAPID, RFC 8292). It is an extra, imported
at the first use.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import os
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from hookline_hookspecs import Host

INSTALL = (
    "Notifications need the library pywebpush. On the machine that runs Hookline, run "
    "`uv pip install pywebpush` in its environment, and restart it."
)
TTL_SECONDS = 3600
"""Seconds for which a push service keeps a message for a browser that is not running."""
CLAIM_SECONDS = 12 * 3600
"""Seconds for which a signature is valid; RFC 8292 allows at most 24 hours."""
SEND_TIMEOUT = 15.0
TOPIC_CHARS = 32
"""RFC 8030 allows no more."""
NO_CONTACT = "mailto:operator@localhost"
"""Sent without a configured contact. Most push services accept it."""


class SubscriptionGone(Exception):
    """The push service does not know the subscription any more."""


class PushSender:
    """Sends messages to push services.

    Args:
        host: the plugin's host.
        contact: whom a push service may contact, as a ``mailto:`` or ``https:`` address.
    """

    def __init__(self, host: Host, contact: str) -> None:
        self._host, self._contact = host, contact or NO_CONTACT
        self._key: Any = None

    @staticmethod
    def problem() -> str:
        """Return what must be installed; empty if nothing is missing."""
        return "" if find_spec("pywebpush") is not None else INSTALL

    def public_key(self) -> str:
        """Return the key with which browsers subscribe, in base64url without padding."""
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        public = self._vapid().public_key
        point = public.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        return base64.urlsafe_b64encode(point).rstrip(b"=").decode()

    def _vapid(self) -> Any:
        """Return the signing key, which is created at the first use."""
        if self._key is None:
            from py_vapid import Vapid02

            path = self._host.home / "web-push.pem"
            if not path.exists():
                made = Vapid02()
                made.generate_keys()
                _write_once(path, made.private_pem())
            self._key = Vapid02.from_pem(path.read_bytes())
        return self._key

    async def send(self, subscription: Mapping[str, Any], message: Mapping[str, str]) -> None:
        """Send a message to a browser.

        Raises:
            SubscriptionGone: it is not subscribed any more.
            HooklineError: the push service cannot be reached, or the address is not allowed.
        """
        endpoint = str(subscription["endpoint"])
        headers, body = await asyncio.to_thread(self._encrypt, endpoint, subscription, message)
        headers["Topic"] = _topic(message)
        response = await self._host.http.request(
            "POST", endpoint, headers=headers, content=body, timeout=SEND_TIMEOUT
        )
        if response.status in (404, 410):
            raise SubscriptionGone
        if response.status >= 300:
            where = urlsplit(endpoint).hostname
            self._host.log.warning("the push service %s answered %s", where, response.status)

    def _encrypt(
        self, endpoint: str, subscription: Mapping[str, Any], message: Mapping[str, str]
    ) -> tuple[dict[str, str], bytes]:
        from pywebpush import WebPusher

        at = urlsplit(endpoint)
        claims = {
            "aud": f"{at.scheme}://{at.netloc}",
            "sub": self._contact,
            "exp": int(time.time()) + CLAIM_SECONDS,
        }
        headers: dict[str, str] = {
            **self._vapid().sign(claims),
            "Content-Encoding": "aes128gcm",
            "Content-Type": "application/octet-stream",
            "TTL": str(TTL_SECONDS),
            "Urgency": "high",
        }
        encoded = WebPusher(dict(subscription)).encode(json.dumps(message).encode())
        return headers, bytes(encoded["body"])


def _topic(message: Mapping[str, str]) -> str:
    """Names what the message is about (RFC 8030, section 5.4), without saying it: a push service
    that still holds an earlier message with the same name replaces it."""
    digest = hashlib.sha256(message["tag"].encode()).digest()
    return base64.urlsafe_b64encode(digest)[:TOPIC_CHARS].decode()


def _write_once(path: Path, content: bytes) -> None:
    """Create a file that only its owner may read; another process may be faster."""
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        os.fsync(file.fileno())
    try:
        os.link(partial, path)
    except FileExistsError:
        pass
    finally:
        partial.unlink()
