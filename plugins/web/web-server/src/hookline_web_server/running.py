"""Whether a gateway of this home serves the web, as another process sees it."""

from __future__ import annotations

import asyncio
import json
import ssl
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path

from hookline_hookspecs import Host
from hookline_webkit.address import parse_address

LISTENING = "listening"
"""The value in the plugin's storage that tells where the server is."""
ASK_SECONDS = 5.0
_MOST_BYTES = 10_000


async def find(host: Host) -> str | None:
    """Return the URL of the server that a gateway of this home runs, or None.

    It has to answer with the name that it has stored: what a killed gateway has left, or another
    program on the port, is not taken for it.
    """
    found = await host.storage.kv.get(LISTENING)
    if not isinstance(found, dict):
        return None
    instance = await asyncio.to_thread(_instance, str(found["address"]), bool(found["tls"]))
    return str(found["url"]) if instance == found["instance"] else None


def _instance(address: str, tls: bool) -> str | None:
    """The name by which a server answers, or None."""
    host, port = parse_address(address)
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    if tls:
        # The certificate is for the public name, and nothing secret is sent.
        context = ssl._create_unverified_context()  # noqa: S323
        asking: HTTPConnection = HTTPSConnection(host, port, timeout=ASK_SECONDS, context=context)
    else:
        asking = HTTPConnection(host, port, timeout=ASK_SECONDS)
    try:
        asking.request("GET", "/healthz")
        told = json.loads(asking.getresponse().read(_MOST_BYTES))
        return str(told["instance"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    finally:
        asking.close()


def is_locked(home: Path) -> bool:
    """Return whether a gateway runs on this home."""
    from filelock import FileLock, Timeout

    lock = FileLock(home / "gateway.lock", mode=0o600)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return True
    lock.release()
    return False
