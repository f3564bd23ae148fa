"""The fake Feishu, gateways in real processes, and files to send."""

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

from .feishu import PATIENCE, Feishu
from .service import APP, SECRET

ANN, BOSS = "ou_ann", "ou_boss"
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


def opus(seconds: int = 1) -> bytes:
    """OGG/Opus as a recorder writes it, without sound."""
    head = b"OpusHead" + bytes([1, 1]) + struct.pack("<HIhB", 312, 48000, 0, 0)
    tags = b"OpusTags" + struct.pack("<I", 4) + b"test" + struct.pack("<I", 0)
    last = _page(b"\xf8\xff\xfe", 4, 48000 * seconds + 312, 2)
    return _page(head, 2, 0, 0) + _page(tags, 0, 0, 1) + last


def _page(data: bytes, flags: int, granule: int, number: int) -> bytes:
    head = struct.pack("<4sBBqIII", b"OggS", 0, flags, granule, 1, number, 0)
    return head + bytes([1, len(data)]) + data


@pytest.fixture
def feishu() -> Iterator[Feishu]:
    made = Feishu()
    yield made
    made.close()


@dataclass
class Gateways:
    """``hookline gateway`` on one home, again and again."""

    folder: Path
    feishu: Feishu
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)
    account: dict[str, str] = field(
        default_factory=lambda: {"FEISHU_APP_ID": APP, "FEISHU_APP_SECRET": SECRET}
    )

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def configure(
        self, script: Any = ECHO, access: Any = None, feishu: Any = None, **plugins: Any
    ) -> None:
        """Write ``config.yaml`` and what the model says."""
        self.home.mkdir(mode=0o700, exist_ok=True)
        model = self.folder / "model.yaml"
        model.write_text(
            script if isinstance(script, str) else json.dumps(script, ensure_ascii=False)
        )
        allowed = {"admins": [f"feishu:{BOSS}"], "allow": [f"feishu:{ANN}"]}
        chosen = {
            **dict.fromkeys(OFF, False),
            "access": access if access is not None else allowed,
            "feishu": {"domain": self.feishu.url, **(feishu or {})},
            **plugins,
        }
        config = {"model": f"scripted/{model}", "plugins": chosen}
        (self.home / "config.yaml").write_text(json.dumps(config))

    def use_model(self, model: str, **more: Any) -> None:
        """Have another model, with other top-level settings."""
        path = self.home / "config.yaml"
        path.write_text(json.dumps({**json.loads(path.read_text()), "model": model, **more}))

    @property
    def said(self) -> str:
        """What the processes have said and logged so far."""
        found = [*self.folder.glob("*.log"), *self.home.glob("logs/*.log")]
        return "".join(path.read_text() for path in found)

    def wait_for_log(self, wanted: str) -> None:
        """Return when this was logged."""
        self.feishu.wait(lambda: wanted in self.said, lambda: self.said)

    def spawn(self, *arguments: str, **env: str) -> subprocess.Popen[bytes]:
        """Start ``hookline``."""
        base = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "LANG": "C.UTF-8"}
        base |= {"HOOKLINE_HOME": str(self.home), **self.account}
        base |= {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
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
def gateways(tmp_path: Path, feishu: Feishu) -> Iterator[Gateways]:
    made = Gateways(tmp_path, feishu)
    yield made
    made.close()
    assert SECRET not in made.said, "the secret was shown"
