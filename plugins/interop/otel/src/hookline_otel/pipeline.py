"""The SDK: private providers, export in the background, and an end that takes no longer than 2 s.

Importing this module imports the OpenTelemetry SDK.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import (
    MetricExportResult,
    MetricReader,
    MetricsData,
    PeriodicExportingMetricReader,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.util.re import parse_env_headers

if TYPE_CHECKING:
    from .config import OtelConfig

HEADERS = "OTEL_EXPORTER_OTLP_HEADERS"
"""Headers of every export, such as a key (OpenTelemetry, "OTLP Exporter Configuration")."""
SHUTDOWN = 2.0
"""Seconds that the end of the process waits for what was not sent yet."""
QUEUE, BATCH = 2048, 512
"""Spans that wait at most, and that are sent at once (the SDK's own defaults)."""
TIMEOUT = 5.0
"""Seconds for one export, its retries included."""
SCOPE = "hookline_otel"
_LOGGERS = tuple(
    logging.getLogger(f"opentelemetry.exporter.otlp.proto.http.{name}_exporter")
    for name in ("trace", "metric")
)
_ours = threading.local()
T = TypeVar("T")


class Losses:
    """Counts what could not be sent, and logs the first of it; the rest at the end."""

    def __init__(self, log: logging.Logger, endpoint: str) -> None:
        self._log = log
        self._endpoint = endpoint
        self._lock = threading.Lock()
        self.spans = 0

    def add(self, spans: int, why: str) -> None:
        """``spans`` were dropped."""
        with self._lock:
            first, self.spans = not self.spans, self.spans + spans
        if first and spans:
            self._log.warning(
                "telemetry is lost: %s %s; turns go on. Check `endpoint` of plugin otel with "
                "`hookline doctor`; this is said once",
                self._endpoint,
                why,
            )


class _Quiet(logging.Filter):
    """Keeps the SDK's own word on each failed export of ours out of the log."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not getattr(_ours, "exporting", False)


_QUIET = _Quiet()


def _quietly(export: Callable[[], T]) -> T:
    _ours.exporting = True
    try:
        return export()
    finally:
        _ours.exporting = False


class _Spans(SpanExporter):
    """Passes spans on, and counts those that did not arrive."""

    def __init__(self, inner: SpanExporter, losses: Losses) -> None:
        self._inner = inner
        self._losses = losses
        self.done = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = SpanExportResult.FAILURE
        try:
            result = _quietly(lambda: self._inner.export(spans))
        finally:
            self.done += len(spans)
            if result is not SpanExportResult.SUCCESS:
                self._losses.add(len(spans), "does not take it")
        return result

    def shutdown(self) -> None:
        _quietly(self._inner.shutdown)

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        return self._inner.force_flush(timeout_millis)


class _Metrics(OTLPMetricExporter):
    """The SDK's exporter without its log."""

    def export(
        self, metrics_data: MetricsData, timeout_millis: float | None = 10_000, **kwargs: Any
    ) -> MetricExportResult:
        return _quietly(
            lambda: super(_Metrics, self).export(metrics_data, timeout_millis or 10_000, **kwargs)
        )


class _Batch(SpanProcessor):
    """The SDK's batches, with a queue that is never over-full: what does not fit is counted."""

    def __init__(self, exporter: SpanExporter, losses: Losses) -> None:
        self._spans = _Spans(exporter, losses)
        self._losses = losses
        self._inner = BatchSpanProcessor(
            self._spans, max_queue_size=QUEUE, max_export_batch_size=BATCH
        )
        self._taken = 0

    @property
    def waiting(self) -> int:
        """Spans that were neither sent nor dropped."""
        return self._taken - self._spans.done

    def on_end(self, span: ReadableSpan) -> None:
        if self.waiting >= QUEUE:
            self._losses.add(1, "is too slow for it")
            return
        self._taken += 1
        self._inner.on_end(span)

    def shutdown(self) -> None:
        self._inner.shutdown()  # type: ignore[no-untyped-call]

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        return bool(self._inner.force_flush(timeout_millis))


class Pipeline:
    """A tracer and a meter of the plugin's own, and what sends their spans and values.

    The global providers are left alone: SDKs of model providers may use them.
    """

    def __init__(
        self,
        config: OtelConfig,
        env: Mapping[str, str],
        log: logging.Logger,
        *,
        spans: SpanExporter | None = None,
        metrics: MetricReader | None = None,
    ) -> None:
        """``env`` may name headers (:data:`HEADERS`); ``spans`` and ``metrics`` replace OTLP."""
        headers = parse_env_headers(env.get(HEADERS, ""), liberal=True)
        for logger in _LOGGERS:
            logger.addFilter(_QUIET)
        self.losses = Losses(log, config.endpoint)
        exporter = spans or OTLPSpanExporter(
            endpoint=config.url("traces"), headers=headers, timeout=TIMEOUT
        )
        reader = metrics or PeriodicExportingMetricReader(
            _Metrics(endpoint=config.url("metrics"), headers=headers, timeout=TIMEOUT)
        )
        resource = Resource.create({"service.name": env.get("OTEL_SERVICE_NAME") or "hookline"})
        self._traces = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._batch = _Batch(exporter, self.losses)
        self._traces.add_span_processor(self._batch)
        self._values = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
        self.tracer = self._traces.get_tracer(SCOPE)
        self.meter = self._values.get_meter(SCOPE)

    def close(self, seconds: float = SHUTDOWN) -> None:
        """Send what waits, for at most ``seconds``; then leave it. Blocks."""
        until = time.monotonic() + seconds
        works = (self._traces.shutdown, lambda: self._values.shutdown(seconds * 900))
        threads = [threading.Thread(target=_attempt, args=(w,), daemon=True) for w in works]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))
        self.losses.add(self._batch.waiting, "has not taken it in time")


def _attempt(work: Callable[[], object]) -> None:
    try:
        _quietly(work)
    except Exception as error:  # the SDK raises what its readers do, a missed deadline too
        logging.getLogger(SCOPE).debug("not shut down: %s", error)
