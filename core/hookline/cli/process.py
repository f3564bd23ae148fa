"""What every command does to its own process: who started it, and where its log goes."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from hookline.home import find_home, make_home
from hookline.log import open_log

_installed: Callable[..., Any] = cache(entry_points)
"""Looks through every installed package, so once for each question."""


def own_process(method: str, *arguments: object, service: str = "process") -> Any:
    """Call the service ``process``, which separates this process from those that tools start.

    ``admit`` and ``enclose`` end this process if a tool has started it; ``admit`` of the service
    ``person`` ends it if its user may not run it. None if the service is not installed; the
    distributions with such tools require it.
    """
    points = _installed(group="hookline.services", name=service)
    return next((getattr(point.load(), method)(*arguments) for point in points), None)


def log_to_home() -> None:
    """Make the home if necessary, and log to ``logs/hookline.log`` in it, not to the screen."""
    make_home(find_home())
    root = logging.getLogger("hookline")
    root.handlers[:] = [open_log(find_home() / "logs")]
    root.propagate = False
