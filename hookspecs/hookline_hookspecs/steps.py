"""Steps and failures of a turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Failure:
    """An error in a turn (hook ``on_error``).

    ``kind`` is a provider error's kind (``auth rate overloaded context bad_request network``) or
    ``internal``.
    """

    kind: str
    text: str
    exception: BaseException | None = None


@dataclass(frozen=True, slots=True)
class PluginFailure:
    """A plugin failed (signal ``plugin_failed``); ``off`` is True if that switched it off."""

    plugin: str
    hook: str
    reason: str
    off: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """A completed step of a turn, for observers (``host.watch``).

    ``hook`` is the hook that ``plugin`` implements; for core's own work it is ``model`` (``event``
    is a :class:`WireRequest`, ``result`` a :class:`ModelResponse`) or ``tool`` (a call and its
    result). ``started`` is a value of ``time.perf_counter()``.
    """

    hook: str
    plugin: str
    kind: str
    event: Any
    result: Any
    started: float
    seconds: float
    failure: BaseException | None = None
