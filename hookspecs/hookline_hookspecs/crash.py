"""Named points of a turn at which a test can kill the process (``HOOKLINE_CRASH_AT``).

In the order in which a turn passes them: ``after-receive``, ``after-commit``, ``before-model``,
``mid-stream``, ``after-model``, ``before-tool``, ``mid-tool``, ``after-tool``, ``before-reply`` and
``after-send``; beside them ``mid-compaction`` and ``mid-migration``. Channels on
``hookline_channelkit`` have ``after-keep``, ``after-fetch`` and ``mid-catch-up`` on the way in, and
``before-part``, ``after-part``, ``before-edit``, ``after-edit``, ``before-stream`` and
``after-stream`` on the way out.
"""

from __future__ import annotations

import os
import signal

_wanted, _, _count = os.environ.get("HOOKLINE_CRASH_AT", "").partition(":")
_left = int(_count) if _count.isdigit() else 1


def armed(name: str) -> bool:
    """Return True if the process should be killed at the point ``name``."""
    return name == _wanted


def point(name: str) -> None:
    """Kill the process with SIGKILL if this is the n-th time it reaches the chosen point."""
    global _left
    if name != _wanted:
        return
    _left -= 1
    if _left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
