"""Reads ``gateway.state`` and checks whether the gateway is healthy."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hookline_hookspecs import CheckResult

from .state import ENDED, NAME, READY, STOPPED

MAX_HEARTBEAT_AGE = 60.0
"""Seconds; with an older heartbeat the gateway hangs."""
_MAX_STATE_BYTES = 1_000_000


def health_check(home: Path) -> CheckResult:
    """Return the check for ``hookline doctor``; it passes if no gateway is supposed to run."""
    problem, found = read_health(home)
    if not (home / NAME).exists() or found.get("state") == STOPPED:
        return CheckResult(True, "no gateway is running", "hookline gateway", hint=True)
    if problem is not None:
        return CheckResult(False, problem, "hookline gateway")
    age = max(0.0, time.time() - found["heartbeat"])
    names = ", ".join(found["channels"]) or "no channel"
    return CheckResult(True, f"up with {names}; its last heartbeat was {age:.0f} s ago")


def read_health(home: Path) -> tuple[str | None, dict[str, Any]]:
    """Return why the gateway is not healthy, or None; and the content of the state file."""
    path = home / NAME
    try:
        with path.open("rb") as file:
            found = json.loads(file.read(_MAX_STATE_BYTES))
        problem = _problem(found, time.time())
    except FileNotFoundError:
        return f"No gateway has run on {home} yet. Run `hookline gateway`.", {}
    except OSError as error:
        return f"Cannot read {path}: {error.strerror or error}.", {}
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return f"{path} is not a valid state file. Restart the gateway.", {}
    return problem, found


def _problem(found: Mapping[str, Any], now: float) -> str | None:
    pid, state, age = found["pid"], found["state"], now - found["heartbeat"]
    if state == STOPPED:
        return "The gateway was stopped. Run `hookline gateway`."
    if not _is_alive(pid):
        return f"The gateway (process {pid}) is dead. Run `hookline gateway`."
    if state != READY:
        return f"The gateway (process {pid}) is {state}."
    if abs(age) > MAX_HEARTBEAT_AGE:
        return f"The gateway (process {pid}) hangs: its last heartbeat was {age:.0f} s ago."
    ended = [name for name, one in found["channels"].items() if one["state"] == ENDED]
    if ended:
        return f"The gateway lost {', '.join(ended)}. Restart it."
    return None


def _is_alive(pid: int) -> bool:
    if pid <= 0:
        raise ValueError("no process")
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's, so it is there
        return True
    return True
