"""The conventions' names of attributes and metrics, read from ``conventions.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import yaml


@dataclass(frozen=True, slots=True)
class MetricName:
    """An instrument: a histogram if it has ``bounds``, else a counter.

    ``fixed`` are attributes added to every value.
    """

    name: str
    unit: str
    bounds: tuple[float, ...] = ()
    fixed: Mapping[str, str] = field(default_factory=dict)


class ConventionNames:
    """The names of one version of the conventions, or of all versions at once."""

    def __init__(self, semconv: str) -> None:
        """``semconv`` is ``latest``, ``1.41`` or ``both``."""
        table = _table()
        versions = list(table["versions"]) if semconv == "both" else [semconv]
        self._attributes: dict[str, tuple[str, ...]] = {}
        self.metrics: dict[str, tuple[MetricName, ...]] = {}
        self._finish: Mapping[str, str] = table["finish"]
        for version in versions:
            one = table["versions"][version]
            for key, name in one["attributes"].items():
                known = self._attributes.get(key, ())
                self._attributes[key] = known if name in known else (*known, name)
            for key, given in one["metrics"].items():
                bounds = tuple(given.get("bounds", ()))
                fixed = given.get("fixed", {} if bounds else one["counted"])
                metric = MetricName(given["name"], given["unit"], bounds, fixed)
                self.metrics[key] = (*self.metrics.get(key, ()), metric)

    def attributes(self, **values: Any) -> dict[str, Any]:
        """Return ``values`` under the conventions' names, without None."""
        return {
            name: value
            for key, value in values.items()
            if value is not None
            for name in self._attributes.get(key, ())
        }

    def finish(self, stop: str) -> str:
        """Return the conventions' name of a stop reason."""
        return self._finish.get(stop, stop)


@cache
def _table() -> dict[str, Any]:
    text = (files(__package__) / "conventions.yaml").read_text("utf-8")
    table: dict[str, Any] = yaml.safe_load(text)
    return table
