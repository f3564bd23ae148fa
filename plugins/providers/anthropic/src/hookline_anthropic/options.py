"""The provider's own settings, read from ``providers.NAME`` of the configuration."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from importlib.resources import files
from typing import Any

from hookline_hookspecs import BadRequest, ProviderSettings
from hookline_providerkit import IDLE_TIMEOUT, RETRY_SECONDS, TOTAL_TIMEOUT, Limits

UNKNOWN_MODEL_MAX_TOKENS = 8192
"""For a model that is not in the table; every model since Claude 3.5 allows it."""

AUTH_HEADERS = ("bearer", "x-api-key")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Options:
    """Checked options; None is the SDK's default.

    ``timeout`` is the seconds to wait for the next bytes, ``total_timeout`` the seconds for a
    request with its retries and its response, ``retry_seconds`` those after a first failure during
    which it is sent again.
    """

    stream: bool = True
    timeout: float | None = None
    total_timeout: float = TOTAL_TIMEOUT
    max_retries: int | None = None
    retry_seconds: float = RETRY_SECONDS
    max_tokens: int | None = None
    thinking: Mapping[str, Any] | None = None
    output_config: Mapping[str, Any] = field(default_factory=dict)
    auth_header: str = "bearer"

    def limits(self) -> Limits:
        """Return the limits of a response."""
        return Limits(idle=self.timeout or IDLE_TIMEOUT, total=self.total_timeout)


OPTION_NAMES = frozenset(one.name for one in fields(Options))


def read_options(settings: ProviderSettings) -> Options:
    """Read the options of ``settings``; unknown keys are ignored with a warning.

    Raises:
        BadRequest: a value is invalid; the text names the key.
    """
    known = {f.name for f in fields(Options)}
    given: dict[str, Any] = {}
    for key, value in settings.options.items():
        where = f"providers.{settings.name}.{key}"
        if key not in known:
            _log.warning(
                "%s is unknown and ignored; known keys are %s", where, ", ".join(sorted(known))
            )
        elif value is not None:
            is_valid, expected = _CHECKS[key]
            if not is_valid(value):
                raise BadRequest(
                    f"{where}: expected {expected}, got {value!r}. Correct config.yaml."
                )
            given[key] = value
    return Options(**given)


def default_max_tokens(model: str) -> int:
    """Return the default ``max_tokens`` of a model, by the longest name in the table that fits."""
    table = _table()
    names = [name for name in table if name in model]
    return table[max(names, key=len)] if names else UNKNOWN_MODEL_MAX_TOKENS


@cache
def _table() -> Mapping[str, int]:
    text = files(__package__).joinpath("max_tokens.json").read_text(encoding="utf-8")
    table: dict[str, int] = json.loads(text)
    return table


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_thinking(value: Any) -> bool:
    return isinstance(value, Mapping) and _is_count(value.get("budget_tokens", 0))


_CHECKS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "stream": (lambda v: isinstance(v, bool), "true or false"),
    "timeout": (lambda v: _is_number(v) and v > 0, "a number of seconds above 0"),
    "total_timeout": (lambda v: _is_number(v) and v > 0, "a number of seconds above 0"),
    "retry_seconds": (lambda v: _is_number(v) and v >= 0, "a number of seconds from 0"),
    "max_retries": (_is_count, "a whole number from 0"),
    "max_tokens": (lambda v: _is_count(v) and v > 0, "a whole number from 1"),
    "thinking": (_is_thinking, "a mapping such as {type: adaptive}, its budget a whole number"),
    "output_config": (lambda v: isinstance(v, Mapping), "a mapping such as {effort: low}"),
    "auth_header": (lambda v: v in AUTH_HEADERS, f"one of {', '.join(AUTH_HEADERS)}"),
}
