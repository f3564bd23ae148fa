"""Background tasks of a process, and awaiting work despite cancellation."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine
from typing import Any

log = logging.getLogger("hookline.tasks")
PLUGIN_TASK_GRACE = 3.0
"""Seconds that a plugin's cancelled tasks get to clean up."""


class BackgroundTasks:
    """Tasks that run in the background until they end or are cancelled at shutdown."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self._endless: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run ``work`` until it ends or :meth:`cancel` is called. A failure is logged."""
        task = self.keep(asyncio.get_running_loop().create_task(work))
        task.add_done_callback(_log_failure)
        return task

    def start_endless(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Like :meth:`start`, for work that has no end: :meth:`finish` does not wait for it."""
        task = self.start(work)
        self._endless.add(task)
        task.add_done_callback(self._endless.discard)
        return task

    def keep(self, task: asyncio.Task[Any]) -> asyncio.Task[Any]:
        """Track a task until it ends or :meth:`cancel` is called. The caller handles failures."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def finish(self, seconds: float) -> None:
        """Wait until no task but endless ones is running, at most ``seconds``."""
        until = time.monotonic() + seconds
        while (running := self._tasks - self._endless) and (left := until - time.monotonic()) > 0:
            await asyncio.wait(running, timeout=left)

    async def cancel(self, grace: float | None = None) -> None:
        """Cancel every task except the current one, and wait for them.

        Tasks that still run after ``grace`` seconds are logged and left running.
        """
        tasks = {task for task in self._tasks if task is not asyncio.current_task()}
        if not tasks:
            return
        for task in tasks:
            task.cancel()
        _, running = await asyncio.wait(tasks, timeout=grace)
        for task in running:
            log.warning("%s did not stop within %g s of its cancellation", task.get_name(), grace)


def plugin_task(work: Coroutine[Any, Any, Any], name: str | None = None) -> asyncio.Task[Any]:
    """Create a task for a plugin's coroutine. ``SystemExit`` in it fails the task, not the process.

    Raises:
        TypeError: ``work`` is not a coroutine.
    """
    if not asyncio.iscoroutine(work):
        raise TypeError(f"expected a coroutine, got {work!r}")
    task = asyncio.get_running_loop().create_task(_contain_exit(work), name=name)
    # A task that is cancelled before its first step leaves its coroutine open.
    task.add_done_callback(lambda _: work.close())
    return task


async def _contain_exit(work: Coroutine[Any, Any, Any]) -> Any:
    try:
        return await work
    except SystemExit as error:  # in a task, it would end the event loop
        raise RuntimeError(f"SystemExit: {error}") from error


def _log_failure(task: asyncio.Task[Any]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("background work failed: %s", error, exc_info=error)


async def finish_despite_cancel(work: Coroutine[Any, Any, None]) -> bool:
    """Await ``work`` despite cancellation; return whether it was cancelled."""
    task, cancelled = asyncio.ensure_future(work), False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            cancelled = not task.done() or task.cancelled()
    task.result()
    if cancelled:
        uncancel(asyncio.current_task())
    return cancelled


def uncancel(task: asyncio.Task[Any] | None) -> None:
    """Withdraw every cancellation requested of ``task``, so that it can continue."""
    while task is not None and task.cancelling():
        task.uncancel()
