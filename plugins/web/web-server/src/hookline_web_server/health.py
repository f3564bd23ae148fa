"""The routes ``/healthz``, ``/readyz`` and ``/metrics``."""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable, Iterable
from typing import Any

from hookline_hookspecs import Host
from hookline_hookspecs.web import Problem, SiteRoute

from .metrics import HttpMetrics


class HealthRoutes:
    """The handlers. ``is_up`` is True while the gateway is up.

    Args:
        host: the plugin's host.
        metrics: counts requests.
        may_read: raises ``Problem`` if the sender may not read the metrics.
        streams: returns the number of open streams.
        instance: the id by which ``hookline web`` recognizes this server.
    """

    def __init__(
        self,
        host: Host,
        metrics: HttpMetrics,
        may_read: Callable[[Any], Any],
        streams: Callable[[], int],
        instance: str,
    ) -> None:
        self._host = host
        self._metrics = metrics
        self._may_read = may_read
        self._streams = streams
        self._instance = instance
        self.is_up = False

    def routes(self) -> Iterable[SiteRoute]:
        """Return the routes."""
        yield SiteRoute("GET", "/healthz", self.healthz, auth="none")
        yield SiteRoute("GET", "/readyz", self.readyz, auth="none")
        yield SiteRoute("GET", "/metrics", self.metrics, auth="none")

    async def healthz(self, request: Any) -> dict[str, Any]:
        """Return 200 while the server runs."""
        return {"status": "ok", "instance": self._instance}

    async def readyz(self, request: Any) -> dict[str, Any]:
        """Return 200 if all channels are up and the store can be read, else 503."""
        if not self.is_up:
            raise Problem(503, "not_ready", "The gateway is starting or stopping.")
        await self._host.storage.kv.get("instance")
        return {"status": "ready"}

    async def metrics(self, request: Any) -> Any:
        """Return the metrics in Prometheus' text format."""
        from starlette.responses import PlainTextResponse

        await self._may_read(request)
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        gauges = {
            "hookline_http_streams": float(self._streams()),
            "hookline_ready": float(self.is_up),
            "hookline_max_resident_bytes": float(most * (1 if sys.platform == "darwin" else 1024)),
        }
        text = self._metrics.text(gauges)
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")
