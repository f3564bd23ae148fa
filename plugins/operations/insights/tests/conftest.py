"""A clock that can be moved, and the commands as core runs them."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hookline.testing import Clock


@pytest.fixture
def clock(clock: Clock) -> Callable[[float], None]:
    """``clock(days)``: the clock stands at noon of 2026-03-04, so many days later."""
    noon = time.mktime((2026, 3, 4, 12, 0, 0, 0, 0, -1))
    clock.stop(noon)
    return lambda days: clock.stop(noon + days * 86400)
