"""A server's process, and its messages over stdin and stdout.

Not the SDK's own transport: that inherits more variables, reads lines of any length, and lets the
server write to this process's stderr.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from .wire import visible

LONGEST_LINE = 16_777_216
"""Bytes of one message."""
LAST_LINES = 20
"""Lines of stderr that are kept, to say why a server ended."""
GRACE = 1.0
"""Seconds that a server has to end by itself when its stdin is closed, and then again between
SIGTERM and SIGKILL."""
SURPLUS = 1_000
"""Lines on stdout that are no messages, after which the server is given up."""


_ERROR = re.compile(r"error|cannot|could not|no such|not found|denied|missing|invalid", re.I)


class Errors:
    """The last lines of a server's stderr."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=LAST_LINES)
        self.fault = ""
        """Why the server was given up, if it did not end by itself."""

    def add(self, line: bytes) -> None:
        """Keep a line."""
        text = visible(line.decode("utf-8", "replace")).strip()
        if text:
            self._lines.append(text[:300])

    def telling(self) -> str:
        """Return the last line that speaks of an error, else the last; empty if there was none."""
        errors = [line for line in self._lines if _ERROR.search(line)]
        lines = errors or [*self._lines]
        return lines[-1] if lines else ""


@asynccontextmanager
async def stdio(
    argv: Sequence[str],
    env: Mapping[str, str],
    cwd: Path,
    errors: Errors,
    ended: Callable[[], None],
) -> AsyncIterator[tuple[Any, Any]]:
    """Start ``argv`` and yield the streams of its messages; end it, and what it started, at the
    end. ``ended`` is called when it closes its stdout.

    Raises:
        OSError: it cannot be started.
    """
    process = await asyncio.create_subprocess_exec(
        *argv,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        env=dict(env),
        cwd=cwd,
        limit=LONGEST_LINE,
        start_new_session=True,
    )
    received, inbox = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outbox, to_send = anyio.create_memory_object_stream[SessionMessage](0)
    tasks = [
        asyncio.create_task(_receive(process, received, ended, errors)),
        asyncio.create_task(_send(process, to_send)),
        asyncio.create_task(_listen(process, errors)),
    ]
    try:
        yield inbox, outbox
    finally:
        for stream in (inbox, outbox):
            stream.close()
        await asyncio.shield(_end(process))
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for stream in (received, to_send):
            stream.close()


async def _receive(
    process: Process, received: Any, ended: Callable[[], None], errors: Errors
) -> None:
    assert process.stdout is not None
    surplus = 0
    try:
        while surplus < SURPLUS and (line := await process.stdout.readline()):
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except (ValueError, RecursionError):
                surplus += 1  # many servers print a greeting
                continue
            await received.send(SessionMessage(message))
        if surplus >= SURPLUS:
            errors.fault = f"it wrote {SURPLUS:,} lines that are no messages, and was ended"
    except ValueError:
        errors.fault = f"it sent a message of more than {LONGEST_LINE:,} bytes, and was ended"
    except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        pass
    finally:
        ended()
        received.close()


async def _send(process: Process, to_send: Any) -> None:
    assert process.stdin is not None
    with contextlib.suppress(OSError, anyio.ClosedResourceError):
        async for item in to_send:
            text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            process.stdin.write(text.encode("utf-8", "replace") + b"\n")
            await process.stdin.drain()


async def _listen(process: Process, errors: Errors) -> None:
    assert process.stderr is not None
    with contextlib.suppress(OSError):
        while True:
            try:
                line = await process.stderr.readline()
            except ValueError:
                continue
            if not line:
                return
            errors.add(line)


async def _end(process: Process) -> None:
    """Close stdin; then SIGTERM, then SIGKILL to the process and all of its session's group."""
    assert process.stdin is not None
    with contextlib.suppress(OSError):
        process.stdin.close()
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            async with asyncio.timeout(GRACE):
                await _exit(process)
            break
        except TimeoutError:
            _kill(process, number)
    _kill(process, signal.SIGKILL)  # what it left behind in its group
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(GRACE):
            await _exit(process)
    transport = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()


async def _exit(process: Process) -> None:
    """Wait for the process itself; ``wait`` would wait for its children's pipes as well."""
    while process.returncode is None:  # noqa: ASYNC110
        await asyncio.sleep(0.01)


def _kill(process: Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


__all__ = ["Errors", "stdio"]
