"""Reads ``gateway.state`` and says whether that gateway is alive."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hookline_hookspecs import CheckResult

from .state import ENDED, NAME, READY, STOPPED

OLDEST = 60.0
"""Seconds; an older heartbeat is none."""
_MOST_BYTES = 1_000_000


def check_on(home: Path) -> CheckResult:
    """Judge the gateway for ``hookline doctor``; none at all, and one that was stopped, is fine."""
    fault, found = judged(home)
    if not (home / NAME).exists() or found.get("state") == STOPPED:
        return CheckResult(True, "no gateway runs", "hookline gateway", hint=True)
    if fault is not None:
        return CheckResult(False, fault, "hookline gateway")
    age = max(0.0, time.time() - found["heartbeat"])
    names = ", ".join(found["channels"]) or "no channel"
    return CheckResult(True, f"up with {names}; its last heartbeat was {age:.0f} s ago")


def judged(home: Path) -> tuple[str | None, dict[str, Any]]:
    """Why the gateway is not healthy, as a sentence, or None; and what the file holds."""
    path = home / NAME
    try:
        with path.open("rb") as file:
            found = json.loads(file.read(_MOST_BYTES))
        fault = _fault(found, time.time())
    except FileNotFoundError:
        return f"No gateway has run on {home} yet; `hookline gateway` starts one.", {}
    except OSError as error:
        return f"{path} cannot be read: {error.strerror or error}.", {}
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return f"{path} is not what a gateway writes; start the gateway again.", {}
    return fault, found


def _fault(found: Mapping[str, Any], now: float) -> str | None:
    pid, state, age = found["pid"], found["state"], now - found["heartbeat"]
    if state == STOPPED:
        return "The gateway was stopped; `hookline gateway` starts it again."
    if not _lives(pid):
        return f"The gateway (process {pid}) is dead; `hookline gateway` starts it again."
    if state != READY:
        return f"The gateway (process {pid}) is not ready: it is {state}."
    if abs(age) > OLDEST:
        return f"The gateway (process {pid}) hangs: its last heartbeat was {age:.0f} s ago."
    ended = [name for name, one in found["channels"].items() if one["state"] == ENDED]
    if ended:
        return f"The gateway lost {', '.join(ended)}; `hookline gateway` has to be started again."
    return None


def _lives(pid: int) -> bool:
    if pid <= 0:
        raise ValueError("no process")
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's, so it is there
        return True
    return True
