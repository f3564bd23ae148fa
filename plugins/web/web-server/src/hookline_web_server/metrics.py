"""The metrics of ``GET /metrics`` in Prometheus' text format."""

from __future__ import annotations

import time
from collections import Counter

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class HttpMetrics:
    """Counts requests by route and status, and their durations. Streams are counted, not timed."""

    def __init__(self) -> None:
        self._began = time.time()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._buckets: Counter[float] = Counter()
        self._sum = 0.0
        self._timed = 0

    def count(self, route: str, status: int, seconds: float | None) -> None:
        """Count a request; ``seconds`` is None for a stream."""
        self._requests[route or "other", status] += 1
        if seconds is None:
            return
        self._sum += seconds
        self._timed += 1
        for bucket in BUCKETS:
            if seconds <= bucket:
                self._buckets[bucket] += 1

    def text(self, gauges: dict[str, float]) -> str:
        """Return all metrics, with additional ``gauges`` by name."""
        lines = ["# TYPE hookline_http_requests_total counter"]
        for (route, status), number in sorted(self._requests.items()):
            labels = f'route="{_quoted(route)}",status="{status}"'
            lines.append(f"hookline_http_requests_total{{{labels}}} {number}")
        lines.append("# TYPE hookline_http_request_seconds histogram")
        for bucket in BUCKETS:
            name = f'hookline_http_request_seconds_bucket{{le="{bucket:g}"}}'
            lines.append(f"{name} {self._buckets[bucket]}")
        lines.append(f'hookline_http_request_seconds_bucket{{le="+Inf"}} {self._timed}')
        lines.append(f"hookline_http_request_seconds_sum {self._sum:.6f}")
        lines.append(f"hookline_http_request_seconds_count {self._timed}")
        for name, value in {**gauges, "hookline_start_time_seconds": self._began}.items():
            lines += [f"# TYPE {name} gauge", f"{name} {value:g}"]
        return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
