"""Checkpoints: signed statements of where the chain ended at a time, kept where it is not.

A line is JSON: ``v`` 1, ``at`` in microseconds, ``seq`` and ``sha`` of the row, ``node``, ``key``
(the public key) and ``sig``, the Ed25519 signature of the canonical JSON of the rest, both in
hexadecimal digits.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hookline_hookspecs import Host

from .chain import canonical
from .config import CheckpointConfig
from .keys import Keys

COMMAND_SECONDS = 30.0
LOCAL0_NOTICE = 16 * 8 + 5
"""The priority of a line for syslog (RFC 5424, section 6.2.1)."""


class Checkpoints:
    """Makes checkpoints, sends them where the settings say, and reads those of the file."""

    def __init__(self, host: Host, keys: Keys, config: CheckpointConfig) -> None:
        self._host = host
        self._keys = keys
        self._config = config
        given = config.file
        self.path = Path(given).expanduser() if given else host.storage.dir / "checkpoints.jsonl"

    def signed(self, seq: int, sha: str, node: str) -> dict[str, Any]:
        """Return a checkpoint of the row ``seq``."""
        return self.sign({"seq": seq, "sha": sha, "node": node})

    def sign(self, statement: Mapping[str, Any]) -> dict[str, Any]:
        """Return a statement with its time and its signature."""
        line = {"v": 1, "at": time.time_ns() // 1000, "key": self._keys.public, **statement}
        return {**line, "sig": self._keys.signing.sign(canonical(line)).hex()}

    def is_signed(self, line: Mapping[str, Any]) -> bool:
        """True if this home has signed a statement."""
        from cryptography.exceptions import InvalidSignature

        try:
            rest = {name: value for name, value in line.items() if name != "sig"}
            self._keys.signing.public_key().verify(bytes.fromhex(line["sig"]), canonical(rest))
        except (InvalidSignature, ValueError, TypeError, KeyError):
            return False
        return True

    def read(self) -> Iterator[tuple[int, Mapping[str, Any] | None]]:
        """Yield the number of each line of the file and the line, None for one that is no JSON."""
        try:
            file = self.path.open(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return
        with file:
            for number, text in enumerate(file, 1):
                try:
                    line = json.loads(text)
                except ValueError:
                    line = None
                yield number, line if isinstance(line, dict) else None

    async def send(self, line: Mapping[str, Any]) -> None:
        """Write a checkpoint to the file and hand it to syslog and the command, as set.

        What fails is logged and holds up nothing else: the next one says more than this one.
        """
        text = json.dumps(line, separators=(",", ":"))
        for work in (self._append, self._to_syslog):
            try:
                await asyncio.to_thread(work, text)
            except OSError as error:
                self._host.log.error("a checkpoint of the audit was not kept: %s", error)
        if self._config.command:
            await self._to_command(text)

    def _append(self, text: str) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        with os.fdopen(os.open(self.path, flags, 0o600), "a", encoding="utf-8") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _to_syslog(self, text: str) -> None:
        if (where := self._config.syslog) is None:
            return
        stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        told = f"<{LOCAL0_NOTICE}>1 {stamp} {socket.gethostname()} hookline - checkpoint - {text}"
        host, colon, port = where.rpartition(":")
        if where.startswith("/"):
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as way:
                way.sendto(told.encode(), where)
        elif colon and port.isdigit():
            with socket.socket(
                socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM
            ) as way:
                way.sendto(told.encode(), (host.strip("[]"), int(port)))
        else:
            raise OSError(
                f"checkpoints.syslog is {where!r}; write HOST:PORT or the path of a socket"
            )

    async def _to_command(self, text: str) -> None:
        argv = self._config.command or []
        try:
            pipe = asyncio.subprocess.PIPE
            process = await asyncio.create_subprocess_exec(
                *argv, stdin=pipe, stdout=pipe, stderr=pipe
            )
        except OSError as error:
            self._host.log.error("the command for checkpoints cannot run: %s", error)
            return
        try:
            async with asyncio.timeout(COMMAND_SECONDS):
                _, told = await process.communicate(text.encode() + b"\n")
        except TimeoutError:
            process.kill()
            await process.wait()
            self._host.log.error(
                "the command for checkpoints took more than %.0f s", COMMAND_SECONDS
            )
            return
        if process.returncode:
            words = told.decode("utf-8", "replace").strip()[:200]
            self._host.log.error(
                "the command for checkpoints failed (%s): %s", process.returncode, words
            )
