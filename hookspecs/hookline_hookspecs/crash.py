"""Crash points: named points of a turn at which a test can kill the process.

A turn passes ``after-receive``, ``after-commit``, ``before-model``, ``mid-stream``,
``after-model``, ``before-tool``, ``mid-tool``, ``after-tool``, ``before-reply`` and ``after-send``,
in this order. A call that asks a person passes ``after-question`` once the question is stored,
``after-shown`` once it is in the outbox, ``after-park`` and ``after-answer`` before
``before-tool``. ``mid-compaction`` and ``mid-migration`` are independent of turns. Channels on
``hookline_channelkit`` pass ``after-keep``, ``after-fetch`` and ``mid-catch-up`` when receiving,
and ``before-part``, ``after-part``, ``before-edit``, ``after-edit``, ``before-stream`` and
``after-stream`` when sending. ``HOOKLINE_CRASH_AT`` chooses the point.
"""

from __future__ import annotations

import os
import signal

_chosen, _, _count = os.environ.get("HOOKLINE_CRASH_AT", "").partition(":")
_left = int(_count) if _count.isdigit() else 1


def armed(name: str) -> bool:
    """Return True if the process should be killed at the point ``name``."""
    return name == _chosen


def point(name: str) -> None:
    """Kill the process with SIGKILL if this is the n-th time it reaches the chosen point."""
    global _left
    if name != _chosen:
        return
    _left -= 1
    if _left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
