"""A clock that can be moved, and the events of the signal ``budget``."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import Clock, Harness


@pytest.fixture
def clock(clock: Clock) -> Clock:
    """The clock stands still at noon of 2026-03-04."""
    clock.stop(time.mktime((2026, 3, 4, 12, 0, 0, 0, 0, -1)))
    return clock


@pytest.fixture
def heard() -> Callable[[Harness], list[Any]]:
    """``heard(h)``: the events of the signal ``budget`` from now on."""

    def listen(h: Harness) -> list[Any]:
        events: list[Any] = []
        h.runtime.bus.signals.connect("budget", lambda event, ctx=None: events.append(event))
        return events

    return listen
