"""Runs one command with a timeout and limited output; the processes that it leaves are a job."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hookline_hookspecs import ToolError
from hookline_hookspecs.own_programs import own_program
from hookline_toolmark import MARK, mark_command

from . import processes
from .output import BoundedOutput

_READ_CHUNK_BYTES = 65_536
_MAX_PIPE_BYTES = 1_048_576
"""Capacity of a pipe by default (pipe(7))."""
MAX_JOB_OUTPUT_CHARS = 64_000
"""Characters that are kept of a background job's output, half from each end."""
_LATE_OUTPUT_SECONDS = 0.2
"""Seconds to wait for output after the shell has ended (``>(…)`` writes then)."""


class StartedCommand(Protocol):
    """A running command. ``pid`` is the process group that a command sees."""

    pid: int

    async def wait(self) -> int:
        """Return the exit code; negative for a signal."""

    async def processes(self) -> list[int]:
        """Return the ids of its running processes, also of those that it left running."""

    async def end(self) -> None:
        """End every process of it: SIGTERM, then SIGKILL. Completed even if cancelled."""


Start = Callable[[int, str], Awaitable[StartedCommand]]
"""Starts a command that writes to a descriptor and has a mark in its environment."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command to run.

    Attributes:
        argv: the program and its arguments.
        folder: the folder that it runs in.
        environment: its environment variables.
        seconds: how long it may run.
        max_output: characters of its output that are kept.
    """

    argv: Sequence[str]
    folder: Path
    environment: Mapping[str, str]
    seconds: float
    max_output: int


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The result of a command.

    ``job`` is set if it left processes running.
    """

    text: str
    exit_code: int
    timed_out: bool
    job: RunningJob | None = None


class RunningJob:
    """Processes that a command left running, and the end of what they print."""

    def __init__(self, command: StartedCommand, reader: _PipeReader) -> None:
        self.command = command
        self._reader = reader
        self._output = BoundedOutput(MAX_JOB_OUTPUT_CHARS)
        reader.redirect(self._output)

    @property
    def output(self) -> str:
        """What it printed since the command's result."""
        return self._output.text()

    async def is_running(self) -> bool:
        """Whether any of its processes is running."""
        return bool(await self.command.processes())

    async def end(self) -> None:
        """End its processes."""
        await self.command.end()
        self.close()

    def close(self) -> None:
        """Stop reading."""
        self._reader.drain()
        self._reader.close()


class _PipeReader:
    """Reads a pipe into a :class:`BoundedOutput` while the event loop runs."""

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

    def redirect(self, output: BoundedOutput) -> None:
        """Keep reading, so that the writer never blocks, into another output."""
        self._output = output

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

    A link is followed to a program of the same name, because a sandbox may not show the link.

    Raises:
        ToolError: neither is installed.
    """
    found = own_program("bash") or own_program("sh")
    if found is None:
        raise ToolError("neither bash nor sh is on this machine's PATH; install one of them")
    real = os.path.realpath(found)
    return real if os.path.basename(real) == os.path.basename(found) else found  # noqa: PTH119


def _never_waited() -> float:
    return 0.0


async def run_on_host(command: Command) -> CommandResult:
    """Run a command outside of the sandbox; see :func:`run_command`."""
    argv = mark_command(command.argv)
    return await run_command(command, on_host(argv, command.folder, command.environment))


async def run_command(
    command: Command, start: Start, waited: Callable[[], float] = _never_waited
) -> CommandResult:
    """Run a command within its limits; ``start`` starts it.

    ``waited`` returns the seconds for which it had to wait for a person, which do not count.

    If it times out or this task is cancelled, every process that it started is ended first. A
    background process (``… &``) keeps running.

    Raises:
        ToolError: the command could not be started.
    """
    reader_end, writer_end = os.pipe()
    try:
        started = await start(writer_end, uuid.uuid4().hex)
    except BaseException:
        os.close(reader_end)
        raise
    finally:
        os.close(writer_end)
    output = BoundedOutput(command.max_output)
    reader = _PipeReader(reader_end, output)
    try:
        code, timed_out = await _wait(started, command.seconds, waited)
        reader.drain()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(reader.ended.wait(), _LATE_OUTPUT_SECONDS)
        left_running = await started.processes()
    except BaseException:
        await started.end()
        reader.close()
        raise
    output.feed(b"", final=True)
    job = RunningJob(started, reader) if left_running else None
    if job is None:
        reader.close()
    return CommandResult(output.text(), code if code >= 0 else 128 - code, timed_out, job)


async def _wait(
    command: StartedCommand, seconds: float, waited: Callable[[], float]
) -> tuple[int, bool]:
    """Return the exit code, and whether the command was ended because of its time."""
    waiting = asyncio.ensure_future(command.wait())
    start = time.monotonic() - waited()
    try:
        while (left := seconds - (time.monotonic() - start - waited())) > 0:
            done, _ = await asyncio.wait({waiting}, timeout=left)
            if done:
                return waiting.result(), False
        await command.end()
        return await waiting, True
    finally:
        waiting.cancel()


def on_host(argv: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Start:
    """Return what starts ``argv`` in ``folder``, in a process group of its own."""

    async def start(output: int, mark: str) -> StartedCommand:
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=folder,
                env={**environment, MARK: mark},
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise ToolError(f"the command could not be started in {folder}: {error}") from None
        return HostCommand(process, mark)

    return start


class HostCommand:
    """A command in this process's own PID namespace."""

    def __init__(self, process: asyncio.subprocess.Process, mark: str) -> None:
        self._process, self._mark = process, mark
        self.pid = process.pid

    async def wait(self) -> int:
        """Return the exit code; negative for a signal."""
        return await self._process.wait()

    async def processes(self) -> list[int]:
        """Return the ids of its running processes."""
        return processes.running_processes(self.pid, self._mark)

    async def end(self) -> None:
        """End its processes; completed even if cancelled."""
        await processes.end_processes(self.pid, self._mark)
