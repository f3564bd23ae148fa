"""A disk that is full or fails, and a process that dies during a checkpoint."""

from __future__ import annotations

import asyncio
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from .platform import Message
from .result import Result
from .stage import Stage, judge_replies, stage

PADDING = "x" * 3000
ROOM = 60_000
"""Bytes that are left when the disk becomes narrow."""
TMPFS = 48 * 1024 * 1024


@dataclass
class Storage:
    """``messages`` in each part; ``kills`` inside a checkpoint."""

    messages: int = 30
    kills: int = 3
    narrow: float = 0.8
    """Seconds for which the disk fails."""
    patience: float = 2.0
    """Seconds without an answer until the gateway is started anew."""


SHORT = Storage()
LONG = Storage(messages=400, kills=50, narrow=10.0, patience=20.0)


async def run(seed: int, much: Storage) -> Result:
    """Run the four parts."""
    result = Result("storage")
    for name, part in (
        ("file limit", _file_limit),
        ("full tmpfs", _full_tmpfs),
        ("I/O errors", _io_errors),
        ("checkpoint", _checkpoint),
    ):
        one = Result(name)
        await part(seed, much, one)
        for row in one.rows:
            shown = f"{name}: {row.name}"
            result.rows.append(type(row)(shown, row.value, row.wanted, row.ok, row.target))
    return result


async def _file_limit(seed: int, much: Storage, result: Result) -> None:
    """No file may grow any further (RLIMIT_FSIZE), which SQLite sees as an I/O error."""

    def narrow(on: Stage) -> None:
        log = on.node.database.with_name("hookline.db-wal")
        largest = max(on.node.database.stat().st_size, log.stat().st_size)
        on.node.limit_files(largest + ROOM)

    async with stage(seed) as on:
        await _squeeze(on, much, result, narrow, lambda on: on.node.limit_files())


async def _full_tmpfs(seed: int, much: Storage, result: Result) -> None:
    """A file system with no room left; needs the right to mount one."""
    with tempfile.TemporaryDirectory(prefix="hookline-tmpfs-") as name:
        place = Path(name)
        async with _mounted(place) as is_up:
            if not is_up:
                result.note("run", "no; mounting a tmpfs needs root")
                return
            balloon = place / "balloon"

            def narrow(_on: Stage) -> None:
                with balloon.open("wb", buffering=0) as file:
                    with suppress(OSError):  # the gateway writes meanwhile
                        while file.write(bytes(ROOM)):
                            pass
                    file.truncate(file.tell() - ROOM)

            async with stage(seed, folder=place / "node") as on:
                await _squeeze(on, much, result, narrow, lambda _on: balloon.unlink())


@asynccontextmanager
async def _mounted(place: Path) -> AsyncIterator[bool]:
    command = ["mount", "-t", "tmpfs", "-o", f"size={TMPFS}", "tmpfs", str(place)]
    try:
        up = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        up = False
    try:
        yield up
    finally:
        if up:
            subprocess.run(["umount", str(place)], check=True)


async def _io_errors(seed: int, much: Storage, result: Result) -> None:
    """One statement in eight that writes fails (see ``outside/sitecustomize.py``)."""
    async with stage(seed) as on:
        disk = on.node.folder / "disk"
        disk.write_text("ok")
        on.node.env["HARNESS_DISK"] = str(disk)
        await _squeeze(
            on, much, result, lambda _: _write(disk, "io 8"), lambda _: _write(disk, "ok")
        )


def _write(disk: Path, text: str) -> None:
    """Replace the file at once; a reader sees the old text or the new."""
    new = disk.with_suffix(".new")
    new.write_text(text)
    new.replace(disk)


async def _squeeze(
    on: Stage,
    much: Storage,
    result: Result,
    narrow: Callable[[Stage], object],
    widen: Callable[[Stage], object],
) -> None:
    """Deliver before, while and after the disk fails; then kill, start again and judge."""
    on.platform.port = on.node.port
    await on.node.start()
    messages = _messages(much.messages)
    third = len(messages) // 3
    await on.platform.deliver_all(messages[:third], workers=8)
    narrow(on)
    sending = asyncio.create_task(on.platform.deliver_all(messages[third:], workers=8))
    await asyncio.sleep(much.narrow)
    refused = sum(message.refused for message in messages)
    widen(on)
    result.note("deliveries refused while it failed", refused)
    await sending
    silent = await on.platform.answered(messages, patience=much.patience)
    result.note("still running", "yes" if await on.node.ended(0.0) is None else "no")
    result.note("acknowledged, and silent until the restart", len(silent))
    await on.node.kill()
    await on.node.start()
    await on.platform.answered(messages, patience=20.0)
    result.must("exit code after SIGTERM", await on.node.stop(), 0)
    judge_replies(result, on, messages, failed=True)


def _messages(count: int) -> list[Message]:
    return [Message(f"m{n}", f"c{n % 5}", f"[m{n}] hello {PADDING}") for n in range(count)]


async def _checkpoint(seed: int, much: Storage, result: Result) -> None:
    """kill -9 while the log is written back into the database."""
    async with stage(seed) as on:
        mark = on.node.folder / "mark"
        mark.write_text("0")
        on.node.env["HARNESS_CHECKPOINT"] = str(mark)
        messages = _messages(much.messages)
        share, inside = len(messages) // (much.kills + 1), 0
        sending = []
        for number in range(much.kills):
            await on.node.start()
            part = messages[number * share : (number + 1) * share]
            sending.append(asyncio.create_task(on.platform.deliver_all(part, workers=8)))
            await asyncio.sleep(on.seed.uniform(0.05, 0.4))
            inside += await _killed_inside(on, mark)
            damaged = not on.node.is_whole()
            result.none(f"damage after kill {number + 1}", ["damaged"] if damaged else [])
        await on.node.start()
        await on.platform.deliver_all(messages[much.kills * share :], workers=8)
        await asyncio.gather(*sending)
        await on.platform.answered(messages)
        result.rows = [row for row in result.rows if not row.ok]
        result.note("kills", much.kills)
        result.note("of them inside a checkpoint", inside)
        result.must("exit code after SIGTERM", await on.node.stop(), 0)
        judge_replies(result, on, messages)


async def _killed_inside(on: Stage, mark: Path) -> bool:
    """Kill as soon as a checkpoint is under way; whether it still was when the process died."""
    until = time.monotonic() + 2.0
    with suppress(OSError):
        while mark.read_text() != "1" and time.monotonic() < until:
            pass
    await on.node.kill()
    return mark.read_text() == "1"
