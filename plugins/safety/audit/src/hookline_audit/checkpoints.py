"""Checkpoints: signed statements of where the chain ended, stored outside the database.

A line is JSON: ``v`` 1, ``at`` in microseconds, ``seq`` and ``sha`` of the row, ``node``, ``key``
(the public key) and ``sig``, the Ed25519 signature of the canonical JSON of the rest, both in hex.
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
from .keys import AuditKeys

COMMAND_TIMEOUT = 30.0
LOCAL0_NOTICE = 16 * 8 + 5
"""The syslog priority (RFC 5424, section 6.2.1)."""


class Checkpoints:
    """Signs checkpoints, sends them to the configured places, and reads those in the file."""

    def __init__(self, host: Host, keys: AuditKeys, config: CheckpointConfig) -> None:
        self._host = host
        self._keys = keys
        self._config = config
        file = config.file
        self.path = Path(file).expanduser() if file else host.storage.dir / "checkpoints.jsonl"

    def make(self, seq: int, sha: str, node: str) -> dict[str, Any]:
        """Return a signed checkpoint of the row ``seq``."""
        return self.sign({"seq": seq, "sha": sha, "node": node})

    def sign(self, statement: Mapping[str, Any]) -> dict[str, Any]:
        """Return a statement with its time and its signature."""
        line = {"v": 1, "at": time.time_ns() // 1000, "key": self._keys.public, **statement}
        return {**line, "sig": self._keys.signing.sign(canonical(line)).hex()}

    def is_signed(self, line: Mapping[str, Any]) -> bool:
        """Whether this home signed a statement."""
        from cryptography.exceptions import InvalidSignature

        try:
            rest = {name: value for name, value in line.items() if name != "sig"}
            self._keys.signing.public_key().verify(bytes.fromhex(line["sig"]), canonical(rest))
        except (InvalidSignature, ValueError, TypeError, KeyError):
            return False
        return True

    def read(self) -> Iterator[tuple[int, Mapping[str, Any] | None]]:
        """Yield number and content of each line of the file; None for a line that is not JSON."""
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
        """Write a checkpoint to the file, and to syslog and the command if configured.

        Failures are logged only, because the next checkpoint covers this one.
        """
        text = json.dumps(line, separators=(",", ":"))
        for work in (self._append, self._to_syslog):
            try:
                await asyncio.to_thread(work, text)
            except OSError as error:
                self._host.log.error("cannot store an audit checkpoint: %s", error)
        if self._config.command:
            await self._to_command(text)

    def _append(self, text: str) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        with os.fdopen(os.open(self.path, flags, 0o600), "a", encoding="utf-8") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _to_syslog(self, text: str) -> None:
        if (address := self._config.syslog) is None:
            return
        stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        message = (
            f"<{LOCAL0_NOTICE}>1 {stamp} {socket.gethostname()} hookline - checkpoint - {text}"
        )
        host, colon, port = address.rpartition(":")
        if address.startswith("/"):
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
                sock.sendto(message.encode(), address)
        elif colon and port.isdigit():
            with socket.socket(
                socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM
            ) as sock:
                sock.sendto(message.encode(), (host.strip("[]"), int(port)))
        else:
            raise OSError(
                f"checkpoints.syslog: expected HOST:PORT or the path of a socket, got {address!r}"
            )

    async def _to_command(self, text: str) -> None:
        argv = self._config.command or []
        try:
            pipe = asyncio.subprocess.PIPE
            process = await asyncio.create_subprocess_exec(
                *argv, stdin=pipe, stdout=pipe, stderr=pipe
            )
        except OSError as error:
            self._host.log.error("cannot run the checkpoint command: %s", error)
            return
        try:
            async with asyncio.timeout(COMMAND_TIMEOUT):
                _, stderr = await process.communicate(text.encode() + b"\n")
        except TimeoutError:
            process.kill()
            await process.wait()
            self._host.log.error("the checkpoint command took more than %.0f s", COMMAND_TIMEOUT)
            return
        if process.returncode:
            output = stderr.decode("utf-8", "replace").strip()[:200]
            self._host.log.error(
                "the checkpoint command failed (exit code %s): %s", process.returncode, output
            )
