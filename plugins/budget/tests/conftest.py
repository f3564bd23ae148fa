"""A clock that can be moved, and what was told."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import Harness


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """``clock(seconds)``: sets core's clock to that Unix time, where it stands still."""

    def stand(at: float) -> None:
        monkeypatch.setattr("hookline.clock.now", lambda: at)

    stand(time.mktime((2026, 3, 4, 12, 0, 0, 0, 0, -1)))
    return stand


@pytest.fixture
def heard() -> Callable[[Harness], list[Any]]:
    """``heard(h)``: the events of the signal ``budget`` from now on."""

    def listen(h: Harness) -> list[Any]:
        events: list[Any] = []
        h.runtime.bus.signals.connect("budget", lambda event, ctx=None: events.append(event))
        return events

    return listen
