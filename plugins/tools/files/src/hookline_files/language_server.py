"""A language server: a program that checks source files while they are edited.

It is started for one workspace, speaks the Language Server Protocol over its standard input and
output, and is told the text of single files. Seven messages are enough for diagnostics, so no
library is used: pygls starts the program itself, without limits on what it sends.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

MAX_MESSAGE_BYTES = 8_000_000
"""Bytes of one message."""
MAX_HEADER_BYTES = 65_536
MAX_KEPT = 1_000
"""Diagnostics that are kept of one file."""
MAX_OPEN_FILES = 50
QUIET_SECONDS = 0.3
"""How long nothing more may come about a file: many servers send a first, incomplete list."""
EXIT_TIMEOUT = 1.0
"""Seconds that a server has to exit after SIGTERM."""
_METHOD_NOT_FOUND = -32601


class ServerFailed(Exception):
    """The server cannot be used any more; the text says why."""


class LanguageServer:
    """A running language server.

    Raises :class:`ServerFailed` from every method once it has ended or broken the protocol.
    """

    def __init__(self, process: Process, workspace: Path) -> None:
        self._process = process
        self._workspace = workspace
        self._failure = ""
        self._next_id = 0
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._versions: dict[str, int] = {}
        self._published: dict[str, tuple[int, list[Any]]] = {}
        self._news = asyncio.Condition()
        self._pulls = False
        self._receiver = asyncio.create_task(self._receive())

    @classmethod
    async def start(
        cls, argv: Sequence[str], env: Mapping[str, str], workspace: Path
    ) -> LanguageServer:
        """Start a server and greet it. Raises ``OSError`` and :class:`ServerFailed`."""
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            env=dict(env),
            cwd=workspace,
            limit=MAX_HEADER_BYTES,
            start_new_session=True,
        )
        server = cls(process, workspace)
        try:
            await server._greet()
        except BaseException:
            await server.close()
            raise
        return server

    async def check(self, path: Path, language: str, text: str) -> list[Any]:
        """Tell the server a file's text and return the diagnostics of exactly this text.

        They are as in the protocol. It waits as long as the server needs; use a timeout.
        """
        uri = path.as_uri()
        version = self._versions.pop(uri, 0) + 1
        document: dict[str, Any] = {"uri": uri, "version": version}
        if version == 1:
            document |= {"languageId": language, "text": text}
            await self._notify("textDocument/didOpen", {"textDocument": document})
        else:
            change = {"textDocument": document, "contentChanges": [{"text": text}]}
            await self._notify("textDocument/didChange", change)
        self._versions[uri] = version
        await self._close_oldest()
        if self._pulls:
            params = {"textDocument": {"uri": uri}}
            answer = await self._request("textDocument/diagnostic", params)
            items = answer.get("items") if isinstance(answer, dict) else None
            return items[:MAX_KEPT] if isinstance(items, list) else []
        return await self._wait_for(uri, version)

    async def close(self) -> None:
        """End the server and its children."""
        self._receiver.cancel()
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(EXIT_TIMEOUT):
                    await self._process.wait()
                    break
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)  # its children
        await asyncio.gather(self._receiver, return_exceptions=True)
        # Unread output would keep its pipe open: asyncio closes it only after the end is read.
        transport = getattr(self._process, "_transport", None)
        if transport is not None:
            transport.close()

    async def _greet(self) -> None:
        root = self._workspace.as_uri()
        document = {
            "synchronization": {},
            "publishDiagnostics": {"versionSupport": True},
            "diagnostic": {"dynamicRegistration": False},
        }
        answer = await self._request(
            "initialize",
            {
                "processId": None,  # in a sandbox, this process has another number
                "clientInfo": {"name": "hookline"},
                "rootUri": root,
                "workspaceFolders": [{"uri": root, "name": self._workspace.name}],
                "capabilities": {"textDocument": document, "workspace": {"configuration": True}},
            },
        )
        offered = answer.get("capabilities") if isinstance(answer, dict) else None
        self._pulls = isinstance(offered, dict) and bool(offered.get("diagnosticProvider"))
        await self._notify("initialized", {})

    async def _close_oldest(self) -> None:
        while len(self._versions) > MAX_OPEN_FILES:
            uri = next(iter(self._versions))
            del self._versions[uri]
            self._published.pop(uri, None)
            await self._notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    async def _wait_for(self, uri: str, version: int) -> list[Any]:
        async with self._news:
            await self._news.wait_for(
                lambda: self._failure or self._published.get(uri, (0, []))[0] >= version
            )
            while not self._failure:
                try:
                    async with asyncio.timeout(QUIET_SECONDS):
                        await self._news.wait()
                except TimeoutError:
                    return self._published[uri][1]
        raise ServerFailed(self._failure)

    async def _request(self, method: str, params: object) -> Any:
        self._next_id += 1
        number = self._next_id
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        try:
            await self._send({"id": number, "method": method, "params": params})
            return await answer
        finally:
            del self._answers[number]

    async def _notify(self, method: str, params: object) -> None:
        await self._send({"method": method, "params": params})

    async def _send(self, message: Mapping[str, object]) -> None:
        if self._failure:
            raise ServerFailed(self._failure)
        assert self._process.stdin is not None
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        try:
            self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
            await self._process.stdin.drain()
        except OSError:
            raise ServerFailed("it ended") from None

    async def _receive(self) -> None:
        failure = "it ended"
        try:
            while True:
                await self._handle(json.loads(await self._read()))
        except (asyncio.IncompleteReadError, OSError, ServerFailed):
            pass
        except (ValueError, asyncio.LimitOverrunError, RecursionError) as error:
            failure = f"it does not speak the protocol ({type(error).__name__})"
        async with self._news:
            self._failure = failure
            self._news.notify_all()
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(ServerFailed(failure))

    async def _read(self) -> bytes:
        """Return one message. Raises ``ValueError`` if it is none, or too long."""
        assert self._process.stdout is not None
        header = await self._process.stdout.readuntil(b"\r\n\r\n")
        fields = dict(line.lower().split(b":", 1) for line in header.split(b"\r\n") if line)
        length = int(fields.get(b"content-length", b"-1"))
        if not 0 <= length <= MAX_MESSAGE_BYTES:
            raise ValueError("no acceptable length")
        return await self._process.stdout.readexactly(length)

    async def _handle(self, message: Any) -> None:
        if not isinstance(message, dict):
            raise ValueError("not a message")
        method, number = message.get("method"), message.get("id")
        if method == "textDocument/publishDiagnostics":
            await self._note(message.get("params"))
        elif method is not None and number is not None:
            await self._send({"id": number, **_answer(method, message.get("params"))})
        elif method is None and number in self._answers and not self._answers[number].done():
            self._answers[number].set_result(message.get("result"))

    async def _note(self, params: Any) -> None:
        if not isinstance(params, dict) or not isinstance(params.get("diagnostics"), list):
            return
        uri = params.get("uri")
        if uri not in self._versions:
            return
        version = params.get("version")
        version = version if isinstance(version, int) else self._versions[uri]
        async with self._news:
            self._published[uri] = (version, params["diagnostics"][:MAX_KEPT])
            self._news.notify_all()


def _answer(method: str, params: Any) -> dict[str, object]:
    """The answer to a request of the server: it is given no settings, and nothing is shown."""
    if method == "workspace/configuration":
        items = params.get("items") if isinstance(params, dict) else None
        return {"result": [None] * len(items) if isinstance(items, list) else []}
    if method in ("client/registerCapability", "window/workDoneProgress/create"):
        return {"result": None}
    return {"error": {"code": _METHOD_NOT_FOUND, "message": "not supported"}}
