"""Collectors that are unreachable, slow, wrong or need a key never affect a turn."""

from __future__ import annotations

import asyncio
import logging
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import Harness
from hookline_hookspecs import CheckResult
from hookline_otel import Otel, OtelConfig
from hookline_otel.collector_check import check
from pydantic import ValidationError

Make = Callable[..., Harness]


@pytest.mark.slow
def test_unreachable_collector_fails_no_turn(
    harness: Make, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint = f"http://127.0.0.1:{_free()}"
    made = harness(Otel, config={"otel": {"endpoint": endpoint}})
    for _ in range(3):
        made.model.steps.append("hi")
        assert made.send("hello").turn.reply == "hi"
    started = time.monotonic()
    with caplog.at_level(logging.DEBUG):
        made.close()
    assert time.monotonic() - started < 4
    assert not [one for one in caplog.records if one.name.startswith("opentelemetry")]


@pytest.mark.slow
def test_stalled_collector_does_not_block_shutdown(traced: Make, collector: Any) -> None:
    collector.stall = True
    harness = traced()
    harness.model.steps.append("hi")
    assert harness.send("hello").turn.reply == "hi"
    started = time.monotonic()
    harness.close()
    assert time.monotonic() - started < 4
    assert collector.requests


def test_refused_telemetry_is_logged_once(
    traced: Make, collector: Any, caplog: pytest.LogCaptureFixture
) -> None:
    collector.key = "another"
    harness = traced()
    for _ in range(3):
        harness.model.steps.append("hi")
        harness.send("hello")
    harness.close()
    warnings = [one.getMessage() for one in caplog.records if "telemetry" in one.getMessage()]
    assert len(warnings) == 1
    assert collector.url in warnings[0]
    assert "hookline doctor" in warnings[0]
    assert not [one for one in caplog.records if one.name.startswith("opentelemetry")]


def test_headers_are_read_from_home_env(traced: Make, collector: Any) -> None:
    collector.key = "a key"
    harness = traced()
    harness.home.mkdir(parents=True, exist_ok=True)
    (harness.home / ".env").write_text("OTEL_EXPORTER_OTLP_HEADERS=x-key=a%20key\n", "utf-8")
    harness.model.steps.append("hi")
    harness.send("hello")
    assert _check(harness).ok
    harness.close()
    assert collector.one("invoke_agent hookline")
    assert collector.values


@pytest.mark.slow
def test_doctor_reports_response_of_collector(traced: Make, collector: Any) -> None:
    assert _check(traced()).ok
    assert not collector.spans
    collector.no_metrics = True
    only = _check(traced())
    assert only.ok
    assert "no metrics" in only.detail
    wrong = _check(traced(endpoint=f"{collector.url}/v1/traces"))
    assert not wrong.ok
    assert "404" in wrong.detail
    assert "without /v1/traces" in wrong.fix
    collector.key = "a key"
    refused = _check(traced())
    assert not refused.ok
    assert "401" in refused.detail
    assert "OTEL_EXPORTER_OTLP_HEADERS" in refused.fix


@pytest.mark.parametrize(
    ("endpoint", "detail"),
    [
        ("http://127.0.0.1:{port}", "connection refused"),
        ("http://no-such-host.invalid:4318", "unknown host"),
        ("https://127.0.0.1:{port}", "connection refused"),
        ("http://127.0.0.1:99999", "ort"),
        ("http://[::1:4318", "IPv6"),
    ],
)
async def test_wrong_endpoint_is_explained(endpoint: str, detail: str) -> None:
    config = OtelConfig(endpoint=endpoint.format(port=_free()))
    found = await check(config, {}, offline=False)
    assert not found.ok
    assert detail in found.detail
    assert "endpoint" in found.fix
    assert (await check(config, {}, offline=True)).ok


@pytest.mark.parametrize("endpoint", ["127.0.0.1:4318", "ftp://a", "http://", "http://a?b=c", ""])
def test_invalid_endpoint_is_refused(endpoint: str) -> None:
    with pytest.raises(ValidationError):
        OtelConfig(endpoint=endpoint)


@pytest.mark.slow
def test_opentelemetry_sdk_is_not_imported_with_the_plugin() -> None:
    code = (
        "import sys, hookline_otel; hookline_otel.Otel;"
        "sys.exit(any(name.startswith(('opentelemetry', 'requests')) for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def _check(harness: Harness) -> CheckResult:
    (found,) = [one for _, one in harness.checks() if one.name == "collector"]
    result: Any = found.run()
    return asyncio.run(result) if asyncio.iscoroutine(result) else result


def _free() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port
