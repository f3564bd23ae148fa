"""A server's process, and its messages over stdin and stdout.

The SDK's own transport passes more environment variables on, reads lines of any length, and shares
this process's stderr with the server.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import json
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
from mcp_types import PARSE_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter

from .readable_messages import readable_message
from .tool_schema import strip_hidden

MAX_LINE_BYTES = 16_777_216
"""Bytes of one message."""
MAX_STDERR_LINES = 20
"""Lines of stderr that are kept to explain why a server exited."""
EXIT_TIMEOUT = 1.0
"""Seconds that a server has to exit after its stdin is closed, and again after SIGTERM."""
MAX_STRAY_LINES = 1_000
"""Lines on stdout that are not messages, after which the server is stopped."""


_ERROR = re.compile(r"error|cannot|could not|no such|not found|denied|missing|invalid", re.I)


class StderrTail:
    """The last lines of a server's stderr."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=MAX_STDERR_LINES)
        self.fault = ""
        """Why the server was stopped, if it did not exit by itself."""

    def add(self, line: bytes) -> None:
        """Keep a line."""
        text = strip_hidden(line.decode("utf-8", "replace")).strip()
        if text:
            self._lines.append(text[:300])

    def summary(self) -> str:
        """Return the last line about an error, else the last line, else an empty string."""
        errors = [line for line in self._lines if _ERROR.search(line)]
        lines = errors or [*self._lines]
        return lines[-1] if lines else ""


@asynccontextmanager
async def open_stdio(
    argv: Sequence[str],
    env: Mapping[str, str],
    cwd: Path,
    errors: StderrTail,
    ended: Callable[[], None],
) -> AsyncIterator[tuple[Any, Any]]:
    """Start ``argv`` and yield the streams of its messages; stop it and its children afterwards.

    ``ended`` is called when the program closes its stdout.

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
        limit=MAX_LINE_BYTES,
        start_new_session=True,
    )
    received, inbox = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outbox, to_send = anyio.create_memory_object_stream[SessionMessage](0)
    tasks = [
        asyncio.create_task(_receive(process, received, ended, errors)),
        asyncio.create_task(_send(process, to_send)),
        asyncio.create_task(_read_stderr(process, errors)),
    ]
    try:
        yield inbox, outbox
    finally:
        for stream in (inbox, outbox):
            stream.close()
        try:
            await asyncio.shield(_stop_process(process))
        finally:
            for task in tasks:
                task.cancel()
            for stream in (received, to_send):
                stream.close()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _receive(
    process: Process, received: Any, ended: Callable[[], None], errors: StderrTail
) -> None:
    assert process.stdout is not None
    stray = 0
    try:
        while stray < MAX_STRAY_LINES and (line := await process.stdout.readline()):
            message = _read_message(line)
            if message is None:
                stray += 1  # many servers print a greeting
                continue
            await received.send(SessionMessage(message))
        if stray >= MAX_STRAY_LINES:
            errors.fault = f"it was stopped after {MAX_STRAY_LINES:,} lines that are not messages"
    except ValueError:
        errors.fault = f"it was stopped after a message of more than {MAX_LINE_BYTES:,} bytes"
    except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        pass
    finally:
        ended()
        received.close()


def _read_message(line: bytes) -> Any:
    """Return a line's message, and an error for an answer that violates the protocol, so that its
    request does not wait; None if it is not a message."""
    line = readable_message(line.removeprefix(codecs.BOM_UTF8))
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except (ValueError, RecursionError):
        pass
    try:
        found = json.loads(line)
        if "method" in found or not isinstance(found["id"], int | str):
            return None
    except (ValueError, RecursionError, KeyError, TypeError):
        return None
    data = ErrorData(code=PARSE_ERROR, message="its answer violates the protocol")
    return JSONRPCError(jsonrpc="2.0", id=found["id"], error=data)


async def _send(process: Process, to_send: Any) -> None:
    assert process.stdin is not None
    with contextlib.suppress(OSError, anyio.ClosedResourceError):
        async for item in to_send:
            text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            process.stdin.write(text.encode("utf-8", "replace") + b"\n")
            await process.stdin.drain()


async def _read_stderr(process: Process, errors: StderrTail) -> None:
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


async def _stop_process(process: Process) -> None:
    """Close stdin, then send SIGTERM and SIGKILL to the process group."""
    assert process.stdin is not None
    with contextlib.suppress(OSError):
        process.stdin.close()
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            async with asyncio.timeout(EXIT_TIMEOUT):
                await _exit(process)
            break
        except TimeoutError:
            _kill(process, number)
    _kill(process, signal.SIGKILL)  # its children
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(EXIT_TIMEOUT):
            await _exit(process)
    transport = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()


async def _exit(process: Process) -> None:
    """Wait for the process itself; ``wait()`` would also wait for its children's pipes."""
    while process.returncode is None:  # noqa: ASYNC110
        await asyncio.sleep(0.01)


def _kill(process: Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


__all__ = ["StderrTail", "open_stdio"]
