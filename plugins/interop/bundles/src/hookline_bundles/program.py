"""Runs one program with text on its standard input, in the sandbox where there is one.

It gets an environment without secrets and without folders of the workspace on PATH. It is ended
with everything that it started when its time is over or it has printed too much.
"""

from __future__ import annotations

import asyncio
import os
import signal
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hookline_hookspecs import Host, Paths
from hookline_hookspecs.own_programs import own_path, own_program
from hookline_toolmark import MARK, mark_command

if TYPE_CHECKING:
    from hookline_sandbox import Sandbox

MAX_OUTPUT_BYTES = 1_000_000
"""Bytes of standard output, and of standard error."""
_CHUNK_BYTES = 65_536
_LATE_OUTPUT_SECONDS = 0.3
"""Seconds to wait for output after the program has ended, from what it left running."""
_END_SECONDS = 3.0
"""Seconds to wait for the end of a killed program."""
CANNOT_RUN = (126, 127)
"""Exit codes of a shell that could not start a program."""


@dataclass(frozen=True, slots=True)
class Program:
    """What to run.

    Attributes:
        argv: an absolute program first, or a name that is searched for outside of the workspace.
        read_only: files and folders that it may read besides the workspace.
        writable: folders that it may also write to.
        variables: of its environment, besides the harmless ones of this process.
    """

    argv: Sequence[str]
    folder: Path
    timeout: float
    variables: Mapping[str, str] = field(default_factory=dict)
    read_only: Sequence[str] = ()
    writable: Sequence[str] = ()
    sandbox: bool = True


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """How a program ended. ``failure`` is why it has no usable result; empty if it has one."""

    exit_code: int
    stdout: str
    stderr: str
    failure: str = ""


def shell() -> list[str]:
    """Return the beginning of a command line that runs a shell command: ``bash``, else ``sh``."""
    return [own_program("bash") or own_program("sh") or "/bin/sh", "-c"]


class ProgramRunner:
    """Runs programs of bundles and hooks."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._sandboxes: dict[tuple[tuple[str, ...], tuple[str, ...]], Sandbox] = {}

    async def run(self, program: Program, paths: Paths, stdin: str = "") -> ProgramResult:
        """Run a program; never raises because of what it does."""
        try:
            argv, env = await self._command(program, paths)
        except (OSError, RuntimeError, ValueError) as error:
            return _failed(f"could not be started: {error}")
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=program.folder,
                env=env,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            return _failed(f"could not be started: {error}")
        running = _Running(process)
        try:
            async with asyncio.timeout(program.timeout):
                return await running.finish(stdin)
        except TimeoutError:
            return _failed(f"took longer than {program.timeout:g} s")
        finally:
            await running.end()

    def close(self) -> None:
        """Remove the private folders of the sandboxes."""
        for sandbox in self._sandboxes.values():
            sandbox.close()

    async def _command(
        self, program: Program, paths: Paths
    ) -> tuple[Sequence[str], Mapping[str, str]]:
        """Return the command line and the environment. Raises if there is no such program."""
        from hookline_sandbox import Method, allowed, found

        env = self._host.env
        variables = dict(allowed(env)) | dict(program.variables)
        variables["PATH"] = own_path(env.get("PATH"))
        variables[MARK] = uuid.uuid4().hex
        executable = own_program(program.argv[0], path=variables["PATH"])
        if executable is None:
            raise ValueError(f"there is no program {program.argv[0]}")
        argv = [executable, *program.argv[1:]]
        here = await asyncio.to_thread(found)
        if not program.sandbox or here.method is Method.NONE:
            return mark_command(argv), variables
        return await asyncio.to_thread(self._sandboxed, argv, variables, program, paths)

    def _sandboxed(
        self, argv: Sequence[str], variables: Mapping[str, str], program: Program, paths: Paths
    ) -> tuple[Sequence[str], Mapping[str, str]]:
        from hookline_sandbox import Places, Sandbox

        key = (tuple(program.read_only), tuple(program.writable))
        sandbox = self._sandboxes.get(key)
        if sandbox is None:
            sandbox = self._sandboxes[key] = Sandbox(
                self._host.home, read_only=program.read_only, writable=program.writable
            )
        for folder in program.writable:
            Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)
        places = Places(
            program.folder,
            paths.workspace,
            paths.check_path,
            partial(paths.protection, workspace=paths.workspace),
            read_only=paths.read_only_places(),
        )
        name = "hooks"
        env = sandbox.environment(variables, name)
        view = sandbox.view(places, env, name)
        return sandbox.command(argv, program.folder, view, ends_together=True), env


class _Running:
    """A started program and what it has printed."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._output = {"stdout": bytearray(), "stderr": bytearray()}

    async def finish(self, stdin: str) -> ProgramResult:
        """Write its input and wait for its end."""
        process = self._process
        assert process.stdout is not None
        assert process.stderr is not None
        async with asyncio.TaskGroup() as group:
            writing = group.create_task(self._write(stdin))
            reading = [
                group.create_task(self._read(process.stdout, "stdout")),
                group.create_task(self._read(process.stderr, "stderr")),
            ]
            waiting = group.create_task(process.wait())
            done, _ = await asyncio.wait([waiting, *reading], return_when=asyncio.FIRST_COMPLETED)
            while waiting not in done and not self._is_too_much:
                done, _ = await asyncio.wait(
                    [waiting, *(task for task in reading if not task.done())],
                    return_when=asyncio.FIRST_COMPLETED,
                )
            if not self._is_too_much:
                await asyncio.wait(reading, timeout=_LATE_OUTPUT_SECONDS)
            for task in (writing, *reading, waiting):
                task.cancel()
        if self._is_too_much:
            return _failed(f"printed more than {MAX_OUTPUT_BYTES:,} bytes")
        code = process.returncode or 0
        stdout, stderr = (
            bytes(self._output[name]).decode("utf-8", "replace") for name in ("stdout", "stderr")
        )
        failure = ""
        if code < 0 or code >= 128:
            failure = f"was ended by signal {-code if code < 0 else code - 128}"
        elif code in CANNOT_RUN:
            lines = stderr.strip().splitlines()
            failure = f"could not be run: {lines[-1][:300] if lines else f'exit code {code}'}"
        return ProgramResult(code, stdout, stderr, failure)

    @property
    def _is_too_much(self) -> bool:
        return any(len(data) > MAX_OUTPUT_BYTES for data in self._output.values())

    async def _write(self, stdin: str) -> None:
        pipe = self._process.stdin
        assert pipe is not None
        with suppress(BrokenPipeError, ConnectionResetError):
            pipe.write(stdin.encode("utf-8", "surrogatepass"))
            await pipe.drain()
        with suppress(BrokenPipeError, ConnectionResetError):
            pipe.close()

    async def _read(self, stream: asyncio.StreamReader, name: str) -> None:
        output = self._output[name]
        while len(output) <= MAX_OUTPUT_BYTES:
            data = await stream.read(_CHUNK_BYTES)
            if not data:
                return
            output += data

    async def end(self) -> None:
        """End it and everything in its process group."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with suppress(TimeoutError):
            async with asyncio.timeout(_END_SECONDS):
                await asyncio.gather(*map(_drain, (self._process.stdout, self._process.stderr)))
                await self._process.wait()


async def _drain(stream: asyncio.StreamReader | None) -> None:
    """Read to the end: until then asyncio does not notice that a process has ended."""
    while stream is not None and await stream.read(_CHUNK_BYTES):
        pass


def _failed(why: str) -> ProgramResult:
    return ProgramResult(-1, "", "", why)
