"""The fake Discord, gateways in real processes, and files to send."""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from fakes import nursery

from .discord_api import PATIENCE, DiscordApi

ANN, BOSS = 222_000_000_000_000_222, 111_000_000_000_000_111
"""People; Ann may write, the boss is admin."""
ECHO = 'steps: [{when: ".", text: "answered", repeat: true}]\n'
OFF = (
    *("files", "shell", "web", "skills", "osv", "demo", "delegate", "titles", "memory", "insights"),
    *("user-model", "session-search", "review", "checkpoints", "context-files", "budget"),
)
"""Plugins that cost time and do nothing here."""


def png(width: int = 2, height: int = 2) -> bytes:
    """A picture."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = b"".join(b"\0" + b"\x10\x80\xf0" * width for _ in range(height))
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def opus() -> bytes:
    """The first page of OGG/Opus, and another, as a recorder begins them; without sound."""
    head = b"OpusHead" + bytes([1, 1]) + struct.pack("<HIhB", 312, 48000, 0, 0)
    tags = b"OpusTags" + struct.pack("<I", 4) + b"test" + struct.pack("<I", 0)
    return _page(head, 2, 0, 0) + _page(tags, 0, 0, 1) + _page(b"\xf8\xff\xfe", 4, 48000, 2)


def _page(data: bytes, flags: int, granule: int, number: int) -> bytes:
    head = struct.pack("<4sBBqIII", b"OggS", 0, flags, granule, 1, number, 0)
    return head + bytes([1, len(data)]) + data


@pytest.fixture
def api() -> Iterator[DiscordApi]:
    made = DiscordApi()
    yield made
    made.close()
    assert made.world.pings == []
    assert made.world.fetched == []


@dataclass
class Gateways:
    """``hookline gateway`` on one home, again and again."""

    folder: Path
    api: DiscordApi
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def configure(
        self, script: Any = ECHO, access: Any = None, discord: Any = None, **plugins: Any
    ) -> None:
        """Write ``config.yaml`` and what the model says."""
        self.home.mkdir(mode=0o700, exist_ok=True)
        model = self.folder / "model.yaml"
        model.write_text(
            script if isinstance(script, str) else json.dumps(script, ensure_ascii=False)
        )
        allowed = {"admins": [f"discord:{BOSS}"], "allow": [f"discord:{ANN}"]}
        chosen = {
            **dict.fromkeys(OFF, False),
            "access": access if access is not None else allowed,
            "discord": {"api_url": self.api.api_url, **(discord or {})},
            **plugins,
        }
        config = {"model": f"scripted/{model}", "plugins": chosen}
        (self.home / "config.yaml").write_text(json.dumps(config))

    @property
    def said(self) -> str:
        """What the processes have said and logged so far."""
        found = [*self.folder.glob("*.log"), *self.home.glob("logs/*.log")]
        return "".join(path.read_text() for path in found)

    def wait_for_log(self, wanted: str) -> None:
        """Return when this was logged."""
        until = time.monotonic() + PATIENCE
        while wanted not in self.said:
            assert time.monotonic() < until, self.said
            time.sleep(0.05)

    def spawn(self, *arguments: str, **env: str) -> subprocess.Popen[bytes]:
        """Start ``hookline``."""
        base = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "LANG": "C.UTF-8"}
        base |= {"HOOKLINE_HOME": str(self.home), "DISCORD_BOT_TOKEN": self.api.token}
        base |= {"TMPDIR": str(self.folder)}
        with (self.folder / f"{len(self.running):03}.log").open("wb") as log:
            process = nursery.Popen(
                [sys.executable, "-m", "hookline", *arguments],
                cwd=self.folder,
                env=base | env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.running.append(process)
        return process

    def start(self, **env: str) -> subprocess.Popen[bytes]:
        """A gateway that is ready."""
        process = self.spawn("gateway", **env)
        self.says("ready\n", process)
        return process

    def says(self, wanted: str, process: subprocess.Popen[bytes] | None = None) -> None:
        """Return when the process (the newest) has said this."""
        process = process or self.running[-1]
        log = self.folder / f"{self.running.index(process):03}.log"
        until = time.monotonic() + PATIENCE
        while wanted not in log.read_text():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.05)

    def run(self, *arguments: str, **env: str) -> tuple[int, str]:
        """``hookline`` to its end: code, and what it said."""
        process = self.spawn(*arguments, **env)
        code = process.wait(timeout=PATIENCE)
        return code, (self.folder / f"{len(self.running) - 1:03}.log").read_text()

    def close(self) -> None:
        for process in self.running:
            process.kill()
            process.wait()


def end(process: subprocess.Popen[bytes], number: int = signal.SIGTERM) -> int:
    """Send a signal and wait for the end; the return code."""
    process.send_signal(number)
    return process.wait(timeout=PATIENCE)


@pytest.fixture
def gateways(tmp_path: Path, api: DiscordApi) -> Iterator[Gateways]:
    made = Gateways(tmp_path, api)
    yield made
    made.close()
    assert api.token.rpartition(".")[2] not in made.said, "the token was shown"
