"""Sets up the OpenTelemetry SDK: private providers, background export, quick shutdown.

Importing this module imports the SDK.
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
"""Environment variable with headers of every export, such as a key."""
SHUTDOWN_TIMEOUT = 2.0
"""Seconds that shutdown waits for pending telemetry."""
MAX_QUEUED_SPANS, MAX_BATCH_SPANS = 2048, 512
"""Spans that wait for export, and spans in one export (the SDK's defaults)."""
EXPORT_TIMEOUT = 5.0
"""Seconds for one export, including retries."""
SCOPE = "hookline_otel"
_LOGGERS = tuple(
    logging.getLogger(f"opentelemetry.exporter.otlp.proto.http.{name}_exporter")
    for name in ("trace", "metric")
)
_export_state = threading.local()
T = TypeVar("T")


class LossCounter:
    """Counts dropped spans, and logs the first loss."""

    def __init__(self, log: logging.Logger, endpoint: str) -> None:
        self._log = log
        self._endpoint = endpoint
        self._lock = threading.Lock()
        self.spans = 0

    def add(self, spans: int, why: str) -> None:
        """Count ``spans`` dropped spans."""
        with self._lock:
            first = not self.spans
            self.spans = self.spans + spans
        if first and spans:
            self._log.warning(
                "telemetry is dropped: %s %s. Run `hookline doctor` to check `endpoint` of plugin "
                "otel. Further losses are not logged",
                self._endpoint,
                why,
            )


class _OwnExportFilter(logging.Filter):
    """Drops the SDK's log records about failures of this plugin's exports."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not getattr(_export_state, "exporting", False)


_OWN_EXPORT_FILTER = _OwnExportFilter()


def _without_sdk_log(export: Callable[[], T]) -> T:
    _export_state.exporting = True
    try:
        return export()
    finally:
        _export_state.exporting = False


class _CountingSpanExporter(SpanExporter):
    """Passes spans to another exporter, and counts those that were not accepted."""

    def __init__(self, inner: SpanExporter, losses: LossCounter) -> None:
        self._inner = inner
        self._losses = losses
        self.done = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = SpanExportResult.FAILURE
        try:
            result = _without_sdk_log(lambda: self._inner.export(spans))
        finally:
            self.done += len(spans)
            if result is not SpanExportResult.SUCCESS:
                self._losses.add(len(spans), "does not accept it")
        return result

    def shutdown(self) -> None:
        _without_sdk_log(self._inner.shutdown)

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        return self._inner.force_flush(timeout_millis)


class _QuietMetricExporter(OTLPMetricExporter):
    """The SDK's metric exporter without its log."""

    def export(
        self, metrics_data: MetricsData, timeout_millis: float | None = 10_000, **kwargs: Any
    ) -> MetricExportResult:
        return _without_sdk_log(
            lambda: super(_QuietMetricExporter, self).export(
                metrics_data, timeout_millis or 10_000, **kwargs
            )
        )


class _BoundedSpanProcessor(SpanProcessor):
    """The SDK's batch processor, with a bounded queue; spans that do not fit are counted."""

    def __init__(self, exporter: SpanExporter, losses: LossCounter) -> None:
        self._spans = _CountingSpanExporter(exporter, losses)
        self._losses = losses
        self._inner = BatchSpanProcessor(
            self._spans, max_queue_size=MAX_QUEUED_SPANS, max_export_batch_size=MAX_BATCH_SPANS
        )
        self._taken = 0

    @property
    def waiting(self) -> int:
        """Spans that are neither sent nor dropped."""
        return self._taken - self._spans.done

    def on_end(self, span: ReadableSpan) -> None:
        if self.waiting >= MAX_QUEUED_SPANS:
            self._losses.add(1, "is too slow")
            return
        self._taken += 1
        self._inner.on_end(span)

    def shutdown(self) -> None:
        self._inner.shutdown()  # type: ignore[no-untyped-call]

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        return bool(self._inner.force_flush(timeout_millis))


class ExportPipeline:
    """The plugin's own tracer and meter, with their exporters.

    The global providers are not touched, because SDKs of model providers may use them.
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
        """``env`` may set headers (:data:`HEADERS`); ``spans`` and ``metrics`` replace OTLP."""
        headers = parse_env_headers(env.get(HEADERS, ""), liberal=True)
        for logger in _LOGGERS:
            logger.addFilter(_OWN_EXPORT_FILTER)
        self.losses = LossCounter(log, config.endpoint)
        exporter = spans or OTLPSpanExporter(
            endpoint=config.url("traces"), headers=headers, timeout=EXPORT_TIMEOUT
        )
        reader = metrics or PeriodicExportingMetricReader(
            _QuietMetricExporter(
                endpoint=config.url("metrics"), headers=headers, timeout=EXPORT_TIMEOUT
            )
        )
        resource = Resource.create({"service.name": env.get("OTEL_SERVICE_NAME") or "hookline"})
        self._tracers = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._batch = _BoundedSpanProcessor(exporter, self.losses)
        self._tracers.add_span_processor(self._batch)
        self._meters = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
        self.tracer = self._tracers.get_tracer(SCOPE)
        self.meter = self._meters.get_meter(SCOPE)

    def close(self, seconds: float = SHUTDOWN_TIMEOUT) -> None:
        """Send pending telemetry for at most ``seconds``, then drop the rest. Blocks."""
        until = time.monotonic() + seconds
        shutdowns = (self._tracers.shutdown, lambda: self._meters.shutdown(seconds * 900))
        threads = [
            threading.Thread(target=_shut_down, args=(one,), daemon=True) for one in shutdowns
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))
        self.losses.add(self._batch.waiting, "did not accept it in time")


def _shut_down(work: Callable[[], object]) -> None:
    try:
        _without_sdk_log(work)
    except Exception as error:  # the SDK raises its readers' errors, even timeouts
        logging.getLogger(SCOPE).debug("not shut down: %s", error)
