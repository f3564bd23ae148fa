"""Runs one command in its own process group, with a timeout and limited output."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hookline_hookspecs import ToolError
from hookline_toolmark import MARK

from . import processes
from .output import BoundedOutput

_READ_CHUNK_BYTES = 65_536
_MAX_PIPE_BYTES = 1_048_576
"""Capacity of a pipe by default (pipe(7))."""
_LATE_OUTPUT_SECONDS = 0.2
"""Seconds to wait for output after the shell has ended (``>(…)`` writes then)."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The result of a command.

    ``left_running`` are the ids of processes that still run, ``put_back`` the control files whose
    changes were undone.
    """

    text: str
    exit_code: int
    timed_out: bool
    pid: int
    mark: str
    left_running: tuple[int, ...] = ()
    put_back: tuple[str, ...] = ()


class _PipeReader:
    """Reads a pipe into an :class:`Output` while the event loop runs."""

    def __init__(self, descriptor: int, output: BoundedOutput) -> None:
        self._descriptor = descriptor
        self._output = output
        self._loop = asyncio.get_running_loop()
        self.ended = asyncio.Event()
        os.set_blocking(descriptor, False)
        self._loop.add_reader(descriptor, self._read)

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, _READ_CHUNK_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self._output.feed(data)
        else:
            self.close()

    def discard(self) -> None:
        """Keep reading, so that the writer never blocks, but drop the data."""
        self._output = BoundedOutput(0)

    def drain(self) -> None:
        """Read what is in the pipe."""
        for _ in range(_MAX_PIPE_BYTES // _READ_CHUNK_BYTES):
            if self.ended.is_set():
                return
            self._read()

    def close(self) -> None:
        """Stop reading."""
        if not self.ended.is_set():
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self.ended.set()


def find_shell() -> str:
    """The path of ``bash``, or of ``sh`` without it.

    Raises:
        ToolError: neither is installed.
    """
    found = shutil.which("bash") or shutil.which("sh")
    if found is None:
        raise ToolError("neither bash nor sh is on this machine's PATH; install one of them")
    return found


async def run_command(
    argv: Sequence[str], folder: Path, environment: Mapping[str, str], seconds: float, limit: int
) -> CommandResult:
    """Run the program ``argv`` in ``folder`` for at most ``seconds``; keep ``limit`` characters.

    If it times out or this task is cancelled, every process that it started is ended first. A
    background process (``… &``) keeps running; its output is read and dropped.

    Raises:
        ToolError: the command could not be started.
    """
    mark = uuid.uuid4().hex
    reader_end, writer_end = os.pipe()
    try:
        process = await _start(argv, folder, {**environment, MARK: mark}, writer_end)
    except BaseException:
        os.close(reader_end)
        raise
    finally:
        os.close(writer_end)
    output = BoundedOutput(limit)
    reader = _PipeReader(reader_end, output)
    try:
        timed_out = await _wait(process, mark, seconds)
        reader.drain()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(reader.ended.wait(), _LATE_OUTPUT_SECONDS)
    except BaseException:
        await processes.end_processes(process.pid, mark)
        reader.close()
        raise
    output.feed(b"", final=True)
    left_running = tuple(processes.running_workers(process.pid, mark))
    if left_running:
        reader.discard()
    else:
        reader.close()
    code = process.returncode if process.returncode is not None else 0
    return CommandResult(
        output.text(), code if code >= 0 else 128 - code, timed_out, process.pid, mark, left_running
    )


async def _start(
    argv: Sequence[str], folder: Path, environment: Mapping[str, str], writer: int
) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=writer,
            stderr=writer,
            cwd=folder,
            env=dict(environment),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise ToolError(f"the command could not be started in {folder}: {error}") from None


async def _wait(process: asyncio.subprocess.Process, mark: str, seconds: float) -> bool:
    try:
        await asyncio.wait_for(asyncio.shield(process.wait()), seconds)
    except TimeoutError:
        await processes.end_processes(process.pid, mark)
        await process.wait()
        return True
    return False
