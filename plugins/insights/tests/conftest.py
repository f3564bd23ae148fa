"""A clock that can be moved, and the commands as core runs them."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """``clock(days)``: core's clock stands at noon of 2026-03-04, so many days later."""

    def stand(days: float) -> None:
        noon = time.mktime((2026, 3, 4, 12, 0, 0, 0, 0, -1))
        monkeypatch.setattr("hookline.clock.now", lambda: noon + days * 86400)

    stand(0)
    return stand
