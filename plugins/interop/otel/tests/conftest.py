"""A collector on loopback that refuses what a real one refuses, and a model that is asked.

The rules are those of OTLP over HTTP: POST of protobuf to ``/v1/traces`` and ``/v1/metrics``, 404
elsewhere, 405 for other methods, 415 for another content type, 400 for what is no such message.
"""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from google.protobuf.message import DecodeError
from hookline.testing import Harness
from hookline_otel import Otel
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from support.serving import serving

KINDS = {
    "/v1/traces": (ExportTraceServiceRequest, ExportTraceServiceResponse),
    "/v1/metrics": (ExportMetricsServiceRequest, ExportMetricsServiceResponse),
}


class Span:
    """A span as the collector has read it; ``parent`` is the span it is under, by its id."""

    def __init__(self, raw: Any) -> None:
        self.raw = raw
        self.name: str = raw.name
        self.id = raw.span_id.hex()
        self.trace = raw.trace_id.hex()
        self.parent = raw.parent_span_id.hex()
        self.attributes = {one.key: _value(one.value) for one in raw.attributes}
        self.failed = raw.status.code == 2


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(one) for one in value.array_value.values]
    return getattr(value, kind) if kind else None


class Collector:
    """What has arrived. ``key``: what ``x-key`` must be; ``stall``: nothing is answered;
    ``no_metrics``: it is for traces only."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.values: dict[str, list[tuple[dict[str, Any], Any]]] = {}
        self.bodies = b""
        self.service = ""
        self.requests = 0
        self.key = ""
        self.stall = False
        self.no_metrics = False
        self.released = threading.Event()
        self.url = ""

    def take(self, path: str, body: bytes) -> tuple[int, bytes]:
        """Read one export."""
        if path not in KINDS or (self.no_metrics and path == "/v1/metrics"):
            return 404, b""
        asked, answer = KINDS[path]
        request = asked()
        try:
            request.ParseFromString(body)
        except DecodeError:
            return 400, b""
        self.bodies += body
        for group in getattr(request, "resource_spans", ()):
            found = {one.key: _value(one.value) for one in group.resource.attributes}
            self.service = found["service.name"]
            for scope in group.scope_spans:
                self.spans += map(Span, scope.spans)
        for group in getattr(request, "resource_metrics", ()):
            for scope in group.scope_metrics:
                for metric in scope.metrics:
                    points = getattr(metric, metric.WhichOneof("data")).data_points
                    self.values[metric.name] = [
                        ({one.key: _value(one.value) for one in point.attributes}, point)
                        for point in points
                    ]
        return 200, answer().SerializeToString()

    def named(self, name: str) -> list[Span]:
        """The spans of this name."""
        return [one for one in self.spans if one.name == name]

    def one(self, name: str) -> Span:
        """The only span of this name."""
        (found,) = self.named(name)
        return found


def _handler(collector: Collector) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            collector.requests += 1
            if collector.stall:
                collector.released.wait(60)
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            status, answer = 415, b""
            if collector.key and self.headers.get("x-key") != collector.key:
                status = 401
            elif self.headers.get("content-type") == "application/x-protobuf":
                status, answer = collector.take(self.path, body)
            self.send_response(status)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            pass

    return Handler


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    """The collector."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    state = Collector()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(state))
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    with serving(server, state.released):
        yield state


@pytest.fixture
def traced(harness: Callable[..., Harness], collector: Collector) -> Callable[..., Harness]:
    """``traced(*plugins, **config)``: a harness that sends to the collector; what it has sent is
    there once it is closed."""

    def make(*plugins: Any, **config: Any) -> Harness:
        settings = {"otel": {"endpoint": collector.url, **config}}
        return harness(Otel, *plugins, config=settings)

    return make
