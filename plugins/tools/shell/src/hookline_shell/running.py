"""Running one command: its own process group, a deadline, bounded output."""

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
from .output import Output

_CHUNK = 65_536
_PIPE = 1_048_576
"""Bytes that a pipe holds at most, unless someone enlarged it (pipe(7))."""
_LAST_WORDS = 0.2
"""Seconds that output may still come after the shell has ended (``>(…)`` writes then)."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command came to. ``left`` are the ids of processes that it left running."""

    text: str
    exit_code: int
    timed_out: bool
    pid: int
    mark: str
    left: tuple[int, ...] = ()


class _Reader:
    """Reads a pipe into an :class:`Output` while the event loop runs."""

    def __init__(self, descriptor: int, output: Output) -> None:
        self._descriptor, self._output = descriptor, output
        self._loop = asyncio.get_running_loop()
        self.ended = asyncio.Event()
        os.set_blocking(descriptor, False)
        self._loop.add_reader(descriptor, self._read)

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self._output.feed(data)
        else:
            self.close()

    def discard(self) -> None:
        """Go on reading, so that the writer never blocks, but keep nothing."""
        self._output = Output(0)

    def drain(self) -> None:
        """Read what has been written already, as far as a pipe holds."""
        for _ in range(_PIPE // _CHUNK):
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
    """``bash``, or ``sh`` where there is none.

    Raises:
        ToolError: there is neither.
    """
    found = shutil.which("bash") or shutil.which("sh")
    if found is None:
        raise ToolError("neither bash nor sh is on this machine's PATH; install one of them")
    return found


async def run(
    argv: Sequence[str], folder: Path, environment: Mapping[str, str], seconds: float, limit: int
) -> Outcome:
    """Run the program ``argv`` in ``folder`` for at most ``seconds``; keep ``limit`` characters.

    When it times out or this task is cancelled, every process it started is ended first. A
    process it left behind on its own (``… &``) goes on; its output is read and dropped.

    Raises:
        ToolError: it could not be started.
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
    output = Output(limit)
    reader = _Reader(reader_end, output)
    try:
        timed_out = await _wait(process, mark, seconds)
        reader.drain()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(reader.ended.wait(), _LAST_WORDS)
    except BaseException:
        await processes.end(process.pid, mark)
        reader.close()
        raise
    output.feed(b"", final=True)
    left = tuple(processes.workers(process.pid, mark))
    if left:
        reader.discard()
    else:
        reader.close()
    code = process.returncode if process.returncode is not None else 0
    return Outcome(
        output.text(), code if code >= 0 else 128 - code, timed_out, process.pid, mark, left
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
        await processes.end(process.pid, mark)
        await process.wait()
        return True
    return False
