"""The doctor's check ``collector``: sends empty exports and reports the answers."""

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

REQUEST_TIMEOUT = 2.0
"""Seconds for each of two requests; a check has five."""
HEADERS = "OTEL_EXPORTER_OTLP_HEADERS"


async def check(config: OtelConfig, env: Mapping[str, str], *, offline: bool) -> CheckResult:
    """Send an empty export of traces, then one of metrics, which some backends do not accept."""
    if offline:
        return CheckResult(True, f"telemetry goes to {config.endpoint} (not checked: offline)")
    headers = parse_env_headers(env.get(HEADERS, ""), liberal=True)
    url = config.url("traces")
    try:
        status = await asyncio.to_thread(_post, url, headers)
        values = status if status >= 300 else await _metrics_status(config, headers)
    except (OSError, ValueError, http.client.HTTPException, ssl.SSLError) as error:
        reason = "timed out" if isinstance(error, TimeoutError) else _error_reason(error)
        return CheckResult(
            False,
            f"no collector at {url}: {reason}; telemetry is dropped",
            "start a collector there, or correct `plugins: otel: endpoint:` in config.yaml",
        )
    if status < 300:
        no_metrics = "" if values < 300 else f", but no metrics (HTTP {values})"
        return CheckResult(True, f"{url} accepts traces{no_metrics}")
    return CheckResult(False, f"{url} answers with HTTP {status}", _fix_for(status))


async def _metrics_status(config: OtelConfig, headers: Mapping[str, str]) -> int:
    return await asyncio.to_thread(_post, config.url("metrics"), headers)


def _error_reason(error: Exception) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, socket.gaierror):
        return "unknown host"
    return str(error) or type(error).__name__


def _fix_for(status: int) -> str:
    if status in (401, 403):
        return f"add its key to {HEADERS} in the home's .env"
    if status in (404, 405):
        return "set `endpoint` to the base URL of OTLP/HTTP (often port 4318), without /v1/traces"
    return "see the collector's log"


def _post(url: str, headers: Mapping[str, str]) -> int:
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=REQUEST_TIMEOUT)
    try:
        sent = {"Content-Type": "application/x-protobuf", **headers}
        connection.request("POST", parts.path, body=b"", headers=sent)
        return connection.getresponse().status
    finally:
        connection.close()
