"""A sandbox that lives on between commands, and the commands in it.

Every command is started by a small server inside (``inside/server.py``). The sandbox ends with the
connection to it, so also when this process is killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import signal
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

from .launcher import inside, interpreter

TERM_TIMEOUT = 2.0
"""Seconds between SIGTERM and SIGKILL for the processes of a command."""
_POLL_INTERVAL = 0.02
_CLOSE_TIMEOUT = 3.0
_START_TIMEOUT = 30.0
_PACKET = 65_536


class SandboxEnded(Exception):
    """The sandbox could not be started, or has ended. The message says why."""


def server_argv() -> list[str]:
    """Return the command line of the server, to be wrapped by a sandbox with namespaces."""
    return [str(interpreter()), "-I", "-S", "-c", inside("server.main()")]


def landlock_server_argv(settings: Mapping[str, object]) -> list[str]:
    """Return the command line of a server that confines each command with Landlock."""
    code = inside("landlock_server.main()")
    return [str(interpreter()), "-I", "-S", "-c", code, json.dumps(settings)]


class CommandServer:
    """The connection to one running sandbox."""

    def __init__(self, process: asyncio.subprocess.Process, connection: socket.socket) -> None:
        self._process = process
        self._connection = connection
        self._numbers = itertools.count(1)
        self._replies: dict[int, asyncio.Future[dict[str, object]]] = {}
        self._codes: dict[int, asyncio.Future[int]] = {}
        self._is_open = True
        connection.setblocking(False)
        asyncio.get_running_loop().add_reader(connection.fileno(), self._receive)

    @classmethod
    async def start(cls, argv: Sequence[str], environment: Mapping[str, str]) -> CommandServer:
        """Start a sandbox with its command line ``argv``.

        Raises:
            SandboxEnded: it did not start; the message says what it printed.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                process = await asyncio.create_subprocess_exec(
                    *argv,
                    stdin=theirs.fileno(),
                    stdout=asyncio.subprocess.DEVNULL,
                    stderr=asyncio.subprocess.PIPE,
                    env=dict(environment),
                    start_new_session=True,
                )
            except OSError as error:
                ours.close()
                raise SandboxEnded(str(error)) from None
        server = cls(process, ours)
        try:
            await asyncio.wait_for(server.others(), _START_TIMEOUT)
        except (SandboxEnded, TimeoutError):
            printed = await server._fail()
            raise SandboxEnded(printed) from None
        return server

    async def _fail(self) -> str:
        """End the sandbox and return the last line that it printed."""
        await self.close()
        assert self._process.stderr is not None
        printed = (await self._process.stderr.read()).decode("utf-8", "replace").strip()
        return printed.splitlines()[-1] if printed else "it ended at once"

    @property
    def process(self) -> int:
        """The id of the process that the sandbox ends with."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether commands can be started."""
        return self._is_open

    async def run(
        self,
        argv: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        mark: str,
        output: int,
        confinement: Mapping[str, object] | None = None,
    ) -> Command:
        """Start a command whose output goes to the descriptor ``output``.

        mark: an entry of its environment (``NAME=value``) by which its processes are found.
        confinement: for a server that confines each command.

        Raises:
            SandboxEnded: the sandbox has ended.
        """
        number = next(self._numbers)
        self._codes[number] = asyncio.get_running_loop().create_future()
        request: dict[str, object] = {"argv": list(argv), "env": dict(environment)}
        request |= {"cwd": str(folder), "mark": mark, **(confinement or {})}
        file = os.memfd_create("command", os.MFD_CLOEXEC)
        try:
            os.write(file, json.dumps(request).encode())
            os.lseek(file, 0, os.SEEK_SET)
            reply = await self._ask(number, {"do": "run"}, (output, file))
        finally:
            os.close(file)
        return Command(self, number, int(str(reply["pid"])), self._codes[number])

    async def others(self) -> list[int]:
        """Return the ids, inside, of every process that commands left or are running."""
        return _ids(await self._ask(next(self._numbers), {"do": "others"}))

    async def signal(self, command: int, number: int) -> list[int]:
        """Send a signal, unless it is 0, to a command's processes; return their ids."""
        request = {"do": "signal", "command": command, "number": number}
        try:
            return _ids(await self._ask(next(self._numbers), request))
        except SandboxEnded:
            return []

    def forget(self, command: int) -> None:
        """Drop what is known of a command that has ended with all its processes."""
        if self._is_open:
            packet = json.dumps({"do": "forget", "command": command, "id": 0}).encode()
            with contextlib.suppress(OSError):
                self._connection.send(packet)

    async def close(self) -> None:
        """End the sandbox with every process in it."""
        self._disconnect()
        try:
            await asyncio.wait_for(self._process.wait(), _CLOSE_TIMEOUT)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            await self._process.wait()

    async def _ask(
        self, number: int, request: Mapping[str, object], descriptors: Sequence[int] = ()
    ) -> dict[str, object]:
        if not self._is_open:
            raise SandboxEnded("it has ended")
        reply: asyncio.Future[dict[str, object]] = asyncio.get_running_loop().create_future()
        self._replies[number] = reply
        packet = json.dumps({**request, "id": number}).encode()
        try:
            socket.send_fds(self._connection, [packet], descriptors)
        except OSError:
            self._disconnect()
        return await reply

    def _receive(self) -> None:
        try:
            data = self._connection.recv(_PACKET)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._disconnect()
            return
        fields = json.loads(data)
        number = fields["id"]
        if "code" in fields:
            code = self._codes.pop(number, None)
            if code is not None and not code.done():
                code.set_result(fields["code"])
        else:
            reply = self._replies.pop(number, None)
            if reply is not None and not reply.done():
                reply.set_result(fields)

    def _disconnect(self) -> None:
        if not self._is_open:
            return
        self._is_open = False
        asyncio.get_running_loop().remove_reader(self._connection.fileno())
        self._connection.close()
        for code in self._codes.values():
            if not code.done():
                code.set_result(-signal.SIGKILL)
        for reply in self._replies.values():
            if not reply.done():
                reply.set_exception(SandboxEnded("it has ended"))
        self._codes.clear()
        self._replies.clear()


class Command:
    """A command in a sandbox. ``pid`` is its process id inside, and that of its process group."""

    def __init__(
        self, server: CommandServer, number: int, pid: int, code: asyncio.Future[int]
    ) -> None:
        self._server, self._number, self._code = server, number, code
        self.pid = pid

    async def wait(self) -> int:
        """Return the exit code, negative for a signal; that of SIGKILL if the sandbox ended."""
        return await asyncio.shield(self._code)

    async def processes(self) -> list[int]:
        """Return the ids, inside, of its running processes."""
        found = await self._server.signal(self._number, 0)
        if not found and self._code.done():
            self._server.forget(self._number)
        return found

    async def end(self) -> None:
        """End its processes: SIGTERM, up to :data:`TERM_TIMEOUT` seconds, SIGKILL.

        It is completed even if the calling task is cancelled.
        """
        await asyncio.shield(self._end())

    async def _end(self) -> None:
        await self._server.signal(self._number, signal.SIGTERM)
        waited = 0.0
        while waited < TERM_TIMEOUT and await self.processes():
            await asyncio.sleep(_POLL_INTERVAL)
            waited += _POLL_INTERVAL
        # A process may start another between being listed and being killed.
        for _ in range(10):
            if not await self._server.signal(self._number, signal.SIGKILL):
                return
            await asyncio.sleep(_POLL_INTERVAL)


def _ids(reply: Mapping[str, object]) -> list[int]:
    found = reply["processes"]
    return [int(each) for each in found] if isinstance(found, list) else []
