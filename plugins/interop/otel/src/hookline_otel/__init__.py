"""Hookline plugin ``otel``: traces and metrics of turns, over OTLP/HTTP.

Reached by the entry point ``hookline_otel:Otel``. The OpenTelemetry SDK is imported at the first
turn. The names of attributes and metrics are in ``conventions.yaml``.
"""

from .config import OtelConfig
from .plugin import Otel

__all__ = ["Otel", "OtelConfig"]
