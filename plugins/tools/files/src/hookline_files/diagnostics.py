"""Notes about the errors that an edit added to a file, from the language server of its language.

Servers are started at the first edit of a file of their language, one for each workspace, and end
with the sessions that used them. Whatever a server does, the edit itself is not affected: a problem
with the server is noted once.
"""

from __future__ import annotations

import asyncio
import shlex
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import Context, Host, Refused
from hookline_hookspecs.own_programs import own_path, own_program
from hookline_hookspecs.visible_text import on_one_line
from hookline_toolmark import MARK, mark_command

from .language_server import LanguageServer
from .languages import identifier_of, language_of

if TYPE_CHECKING:
    from hookline_sandbox import Sandbox

DEADLINE = 3.0
"""Seconds that an edit waits for a server, before it and again after it."""
MAX_LATE = 3
"""Times in a row that a server may miss the deadline before it is ended."""
MAX_NOTES = 10
MAX_NOTE_CHARS = 240
MAX_FILE_BYTES = 2_000_000
"""Bytes of a file that is sent to a server."""
_SEVERITIES = {1: "error", 2: "warning"}


@dataclass
class _Running:
    """A server that was started or is starting, and the sessions that used it."""

    server: asyncio.Task[LanguageServer] | None = None
    sandbox: Sandbox | None = None
    one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)
    sessions: set[str] = field(default_factory=set)
    late: int = 0
    failure: str = ""
    is_noted: bool = False


class Diagnostics:
    """The language servers of a process.

    Args:
        host: the plugin's.
        commands: the command line of each language's server.
    """

    def __init__(self, host: Host, commands: Mapping[str, str]) -> None:
        self._host = host
        self._commands = commands
        self._running: dict[tuple[Path, str], _Running] = {}

    def has(self, path: Path) -> bool:
        """Whether a server is configured for a file of this name."""
        return language_of(path) in self._commands

    async def before(self, ctx: Context, path: Path, shown: str) -> Check:
        """Check a file before it is changed."""
        running = self._server(ctx, language_of(path) or "")
        check = Check(self, ctx, running, path, shown)
        await check.look()
        return check

    async def find(self, running: _Running, path: Path, text: str) -> list[Any] | None:
        """The diagnostics of a text; None if the server gives none in time."""
        if running.failure or running.server is None:
            return None
        try:
            async with asyncio.timeout(DEADLINE):
                server = await asyncio.shield(running.server)
                async with running.one_at_a_time:
                    found = await server.check(path, identifier_of(path), text)
        except TimeoutError:
            running.late += 1
            if running.late >= MAX_LATE:
                running.failure = f"it did not answer within {DEADLINE:g} s, {MAX_LATE} times"
                await self._close(running)
            return None
        except Exception as error:  # whatever a server sends must not spoil the edit
            running.failure = str(error) or type(error).__name__
            await self._close(running)
            return None
        running.late = 0
        return found

    async def end_session(self, session: str) -> None:
        """End the servers that only this session used."""
        for key, running in list(self._running.items()):
            running.sessions.discard(session)
            if not running.sessions:
                del self._running[key]
                await self._close(running)

    async def close(self) -> None:
        """End all servers."""
        for running in self._running.values():
            await self._close(running)
        self._running.clear()

    def _server(self, ctx: Context, language: str) -> _Running:
        workspace = ctx.paths.workspace
        running = self._running.get((workspace, language))
        if running is None:
            running = _Running()
            running.server = asyncio.create_task(self._start(ctx, language, running))
            self._running[workspace, language] = running
        running.sessions.add(ctx.session.id)
        return running

    async def _start(self, ctx: Context, language: str, running: _Running) -> LanguageServer:
        from hookline_sandbox import Method, Places, Sandbox, allowed, found

        paths, workspace = ctx.paths, ctx.paths.workspace
        words = shlex.split(self._commands[language])
        env = dict(allowed(self._host.env))
        env["PATH"] = own_path(self._host.env.get("PATH"))
        program = own_program(words[0], path=env["PATH"]) if words else None
        if program is None:
            name = words[0] if words else "(none)"
            raise ValueError(f"program {name} not found outside the workspace; install it")
        argv = mark_command([program, *words[1:]])
        env[MARK] = uuid.uuid4().hex
        here = await asyncio.to_thread(found)
        if here.method is Method.NONE:
            return await LanguageServer.start(argv, env, workspace)
        visible = await asyncio.to_thread(_program_folders, program)
        sandbox = running.sandbox = Sandbox(self._host.home, read_only=visible)
        places = Places(
            workspace,
            workspace,
            paths.check_path,
            partial(paths.protection, workspace=workspace),
            read_only=paths.read_only_places(),
        )
        key = f"language-server-{language}"
        env = sandbox.environment(env, key)
        wrapped = await asyncio.to_thread(sandbox.wrapped, argv, places, env, key)
        return await LanguageServer.start(wrapped, env, workspace)

    async def _close(self, running: _Running) -> None:
        if running.server is not None:
            running.server.cancel()
            (server,) = await asyncio.gather(running.server, return_exceptions=True)
            if isinstance(server, LanguageServer):
                await server.close()
        if running.sandbox is not None:
            await asyncio.to_thread(running.sandbox.close)
            running.sandbox = None


class Check:
    """The diagnostics of one file before and after a change."""

    def __init__(
        self, servers: Diagnostics, ctx: Context, running: _Running, path: Path, shown: str
    ) -> None:
        self._servers = servers
        self._ctx = ctx
        self._running = running
        self._path = path
        self._shown = shown
        self._before: Counter[tuple[object, ...]] = Counter()

    async def look(self) -> None:
        """Note what was wrong before."""
        found = await self._find()
        self._before = Counter(_identity(one) for one in found or [])

    async def notes(self) -> list[str]:
        """Notes for the model about what is wrong now and was not before."""
        found = await self._find()
        if found is None:
            return self._problem()
        left, new = self._before.copy(), []
        for one in found:
            if left[_identity(one)]:
                left[_identity(one)] -= 1
            elif one.get("severity", 1) in _SEVERITIES:
                new.append(one)
        lines = [self._line(one) for one in sorted(new, key=_place)[:MAX_NOTES]]
        if len(new) > MAX_NOTES:
            lines.append(f"{self._shown}: {len(new) - MAX_NOTES} more errors and warnings")
        if not lines:
            return []
        try:
            text = await self._ctx.read("\n".join(lines), f"diagnostics of {self._shown}")
        except Refused:
            return [f"{self._shown}: {len(new)} new errors and warnings, not shown"]
        return text.split("\n")

    async def _find(self) -> list[Any] | None:
        text = await asyncio.to_thread(_text, self._ctx.paths.open_read, self._path)
        if text is None:
            return []
        found = await self._servers.find(self._running, self._path, text)
        return None if found is None else [one for one in found if isinstance(one, dict)]

    def _problem(self) -> list[str]:
        running = self._running
        if not running.failure or running.is_noted:
            return []
        running.is_noted = True
        why = on_one_line(running.failure, MAX_NOTE_CHARS)
        return [f"The language server for {language_of(self._path)} is not used: {why}."]

    def _line(self, one: Mapping[str, Any]) -> str:
        line, column = _place(one)
        severity = _SEVERITIES[one.get("severity", 1)]
        code = one.get("code")
        suffix = f" ({code})" if isinstance(code, str | int) else ""
        text = f"{self._shown}:{line}:{column}: {severity}: {one.get('message', '')}{suffix}"
        return on_one_line(text, MAX_NOTE_CHARS)


def _program_folders(program: str) -> list[str]:
    """The folders that a program needs to run: its own, and the environment that it belongs to."""
    folders = [Path(program).parent, Path(program).resolve().parent]
    environments = [folder.parent for folder in folders if (folder.parent / "pyvenv.cfg").is_file()]
    return [str(folder) for folder in dict.fromkeys([*folders, *environments])]


def _identity(one: Mapping[str, Any]) -> tuple[object, ...]:
    """What stays the same when lines are added above."""
    return str(one.get("severity")), str(one.get("code")), str(one.get("message"))


def _place(one: Mapping[str, Any]) -> tuple[int, int]:
    """Line and column, from 1; of a diagnostic without a usable place, the first."""
    try:
        start = one["range"]["start"]
        return int(start["line"]) + 1, int(start["character"]) + 1
    except (KeyError, TypeError, ValueError):
        return 1, 1


def _text(open_read: Callable[[Path], Any], path: Path) -> str | None:
    """A file's text; None if there is none, or it is too long or not UTF-8."""
    try:
        with open_read(path) as file:
            data = bytes(file.read(MAX_FILE_BYTES + 1))
        return data.decode("utf-8") if len(data) <= MAX_FILE_BYTES else None
    except (OSError, UnicodeDecodeError):
        return None
