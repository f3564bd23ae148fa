"""Reports plugin code that blocks the event loop.

Python cannot interrupt a function that does not return: a ``def`` hook that never returns blocks
its process. A daemon thread detects this, logs the stack and names the plugin; when the code
returns, the block is reported as a failure of the plugin. Under systemd, a blocked gateway stops
sending ``WATCHDOG=1`` and is restarted.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from time import perf_counter
from types import FrameType

log = logging.getLogger("hookline.bus")
CHECK_INTERVAL = 0.5
"""Seconds between two checks of the event loop."""
CORE = __name__.partition(".")[0]
MISSED_CHECKS = 2
"""Consecutive checks without an answer from the event loop after which a block is logged."""


@dataclass(frozen=True, slots=True)
class BlockedLoop:
    """Plugin code that blocked the event loop.

    ``function`` is the name of the plugin's outermost function, such as the hook, and ``location``
    the ``FILE:LINE`` in its innermost one. ``seconds`` is how long it blocked.
    """

    plugin: str
    function: str
    location: str
    seconds: float


class BlockMonitor:
    """Watches the event loop of the thread that calls :meth:`start`.

    Args:
        plugins: returns the plugins that are on and the providers in use, by name; used to find
            whose code blocks.
        report: called in the event loop once the block has ended.
    """

    def __init__(
        self, plugins: Callable[[], Mapping[str, object]], report: Callable[[BlockedLoop], None]
    ) -> None:
        self._plugins = plugins
        self._report = report
        self._stopped = threading.Event()
        self._answered = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start watching the running event loop."""
        watched = asyncio.get_running_loop(), threading.get_ident()
        self._stopped.clear()
        self._answered.set()
        self._thread = threading.Thread(
            target=self._watch, args=watched, name="hookline-monitor", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Stop watching; does nothing if it was not started."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _watch(self, loop: asyncio.AbstractEventLoop, thread_id: int) -> None:
        asked, missed = 0.0, 0
        while not self._stopped.wait(CHECK_INTERVAL):
            try:
                if self._answered.is_set():
                    self._answered.clear()
                    asked, missed = perf_counter(), 0
                    loop.call_soon_threadsafe(self._answered.set)
                    continue
                # Count checks, not seconds: a process that was suspended has not missed a check.
                missed += 1
                if missed == MISSED_CHECKS:
                    self._examine(loop, thread_id, asked)
            except RuntimeError:  # the loop was closed
                return

    def _examine(self, loop: asyncio.AbstractEventLoop, thread_id: int, since: float) -> None:
        """Log what the event loop's thread is doing, if it runs a plugin's code."""
        frames = _stack_of(thread_id)
        plugin, own = find_plugin(frames, self._plugins())
        if not plugin:
            return
        location = f"{own[0].f_code.co_filename}:{own[0].f_lineno}"
        function = own[-1].f_code.co_name
        stack = "".join(traceback.format_stack(frames[0]))
        log.warning(
            "plugin %s blocks the event loop in %s (%s)\n%s", plugin, function, location, stack
        )

        def ended() -> None:
            self._report(BlockedLoop(plugin, function, location, perf_counter() - since))

        loop.call_soon_threadsafe(ended)


def find_plugin(
    frames: Iterable[FrameType], plugins: Mapping[str, object]
) -> tuple[str, list[FrameType]]:
    """Return the plugin whose code a stack runs, and its frames up to core's, innermost first.

    It is the innermost one: a plugin that waits for another one's code does not block. A frame
    belongs to a plugin if it is a method of the plugin object or in the plugin's package. Where
    several plugins share a package, all their names are returned. The name is empty if no frame
    belongs to a plugin.
    """
    packages: dict[str, list[str]] = {}
    for name, plugin in plugins.items():
        package = type(plugin).__module__.partition(".")[0]
        if package != CORE:
            packages.setdefault(package, []).append(name)
    instances = {id(plugin): name for name, plugin in plugins.items()}
    own: list[FrameType] = []
    package = method_of = ""
    for frame in frames:
        found = str(frame.f_globals.get("__name__")).partition(".")[0]
        if found == CORE and own:
            break
        if found in packages and package in ("", found):
            package = found
            own.append(frame)
            method_of = method_of or instances.get(id(frame.f_locals.get("self")), "")
    return method_of or " or ".join(packages.get(package, [])), own


def _stack_of(thread_id: int) -> list[FrameType]:
    """Return the frames of a thread, innermost first."""
    frames: list[FrameType] = []
    frame = sys._current_frames().get(thread_id)
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    return frames
