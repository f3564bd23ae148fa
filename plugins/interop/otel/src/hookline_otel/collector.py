"""The doctor's check ``collector``: an empty export, and what the collector says to it."""

from __future__ import annotations

import asyncio
import http.client
import socket
import ssl
from collections.abc import Mapping
from urllib.parse import urlsplit

from hookline_hookspecs import CheckResult
from opentelemetry.util.re import parse_env_headers

from .config import OtelConfig

SECONDS = 2.0
"""How long each of two answers may take; a check has five."""
HEADERS = "OTEL_EXPORTER_OTLP_HEADERS"


async def check(config: OtelConfig, env: Mapping[str, str], *, offline: bool) -> CheckResult:
    """Send an empty export of traces, then one of metrics, which not every backend takes."""
    if offline:
        return CheckResult(True, f"telemetry goes to {config.endpoint} (not asked: offline)")
    headers = parse_env_headers(env.get(HEADERS, ""), liberal=True)
    url = config.url("traces")
    try:
        status = await asyncio.to_thread(_post, url, headers)
        values = status if status >= 300 else await _values(config, headers)
    except (OSError, ValueError, http.client.HTTPException, ssl.SSLError) as error:
        why = "it did not answer in time" if isinstance(error, TimeoutError) else _why(error)
        return CheckResult(
            False,
            f"nothing takes telemetry at {url}: {why}; turns go on without it",
            "start a collector there, or correct `plugins: otel: endpoint:` in config.yaml",
        )
    if status < 300:
        alone = "" if values < 300 else f"; no metrics, for which it answers with HTTP {values}"
        return CheckResult(True, f"{url} takes traces{alone}")
    return CheckResult(False, f"{url} answers with HTTP {status}", _mend(status))


async def _values(config: OtelConfig, headers: Mapping[str, str]) -> int:
    return await asyncio.to_thread(_post, config.url("metrics"), headers)


def _why(error: Exception) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "the connection is refused"
    if isinstance(error, socket.gaierror):
        return "there is no such host"
    return str(error) or type(error).__name__


def _mend(status: int) -> str:
    if status in (401, 403):
        return f"put the key that it wants into {HEADERS} in the home's .env"
    if status in (404, 405):
        return "`endpoint` is the base URL of OTLP over HTTP (often port 4318), without /v1/traces"
    return "look into the collector's own log"


def _post(url: str, headers: Mapping[str, str]) -> int:
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=SECONDS)
    try:
        sent = {"Content-Type": "application/x-protobuf", **headers}
        connection.request("POST", parts.path, body=b"", headers=sent)
        return connection.getresponse().status
    finally:
        connection.close()
