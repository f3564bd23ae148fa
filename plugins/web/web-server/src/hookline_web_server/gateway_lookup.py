"""Finds the web server of a gateway that runs in another process."""

from __future__ import annotations

import asyncio
import json
import ssl
from http.client import HTTPConnection, HTTPSConnection

from hookline_hookspecs import Host
from hookline_webkit.address import parse_address

LISTENING = "listening"
"""The key in the plugin's storage under which a running server stores its address."""
HEALTH_TIMEOUT_SECONDS = 5.0
_MAX_HEALTH_BYTES = 10_000


async def find_running_url(host: Host) -> str | None:
    """Return the URL of the web server of this home's gateway, or None.

    The server must answer with the instance id that it stored, so that neither what a killed
    gateway left behind nor another program on the port is mistaken for it.
    """
    found = await host.storage.kv.get(LISTENING)
    if not isinstance(found, dict):
        return None
    instance = await asyncio.to_thread(_instance, str(found["address"]), bool(found["tls"]))
    return str(found["url"]) if instance == found["instance"] else None


def _instance(address: str, tls: bool) -> str | None:
    """Return the instance id of a server, or None."""
    host, port = parse_address(address)
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    if tls:
        # The certificate is for the public name, and nothing secret is sent.
        context = ssl._create_unverified_context()  # noqa: S323
        connection: HTTPConnection = HTTPSConnection(
            host, port, timeout=HEALTH_TIMEOUT_SECONDS, context=context
        )
    else:
        connection = HTTPConnection(host, port, timeout=HEALTH_TIMEOUT_SECONDS)
    try:
        connection.request("GET", "/healthz")
        answer = json.loads(connection.getresponse().read(_MAX_HEALTH_BYTES))
        return str(answer["instance"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    finally:
        connection.close()
