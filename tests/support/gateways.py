"""``hookline gateway`` in real processes on one home with one channel, and files to send.

A channel's ``conftest.py`` subclasses :class:`Gateways` for its fake platform.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from .processes import store_environment

PATIENCE = 120.0
"""Seconds that are waited for a real process."""
ECHO = 'steps: [{when: ".", text: "answered", repeat: true}]\n'
OFF = (
    *("files", "shell", "web", "skills", "osv", "demo", "delegate", "titles", "memory", "insights"),
    *("user-model", "session-search", "review", "checkpoints", "context-files", "budget"),
)
"""Plugins that cost time and do nothing here."""


class Gateways:
    """Gateways on one home, one after the other, or at once.

    Args:
        folder: where the home is, and what the processes say.
        api: the fake platform.
    """

    channel: ClassVar[str]
    """The plugin."""
    boss: ClassVar[Any]
    """The admin."""
    ann: ClassVar[Any]
    """A person who may write."""

    def __init__(self, folder: Path, api: Any) -> None:
        self.folder, self.api = folder, api
        self.running: list[subprocess.Popen[bytes]] = []

    def settings(self) -> dict[str, Any]:
        """Of the channel: where the fake is."""
        raise NotImplementedError

    def account(self) -> dict[str, str]:
        """The account, in the environment."""
        raise NotImplementedError

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def configure(self, script: Any = ECHO, access: Any = None, **plugins: Any) -> None:
        """Write ``config.yaml`` and what the model says. Settings of the channel itself are added
        to those that it needs; with False it is off."""
        self.home.mkdir(mode=0o700, exist_ok=True)
        model = self.folder / "model.yaml"
        model.write_text(
            script if isinstance(script, str) else json.dumps(script, ensure_ascii=False)
        )
        own = plugins.pop(self.channel, None)
        boss, ann = (f"{self.channel}:{one}" for one in (self.boss, self.ann))
        chosen = {
            **dict.fromkeys(OFF, False),
            "access": access if access is not None else {"admins": [boss], "allow": [ann]},
            self.channel: own is not False and {**self.settings(), **(own or {})},
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

    def spawn(self, *arguments: str, **env: str) -> subprocess.Popen[bytes]:
        """Start ``hookline``."""
        base = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "LANG": "C.UTF-8"}
        base |= {"HOOKLINE_HOME": str(self.home), **self.account(), **store_environment()}
        base |= {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
        return self._run([*arguments], self.folder, base | env)

    def _run(self, arguments: list[str], cwd: Path, env: dict[str, str]) -> subprocess.Popen[bytes]:
        with (self.folder / f"{len(self.running):03}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "hookline", *arguments],
                cwd=cwd,
                env=env,
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

    def run(self, *arguments: str, **env: str) -> tuple[int, str]:
        """``hookline`` to its end: code, and what it said."""
        process = self.spawn(*arguments, **env)
        code = process.wait(timeout=PATIENCE)
        return code, self._log(process).read_text()

    def _log(self, process: subprocess.Popen[bytes]) -> Path:
        return self.folder / f"{self.running.index(process):03}.log"

    def says(self, wanted: str, process: subprocess.Popen[bytes] | None = None) -> None:
        """Return when the process (the newest) has said this."""
        process = process or self.running[-1]
        log = self._log(process)

        def has_said() -> bool:
            is_over = process.poll() is not None
            found = wanted in log.read_text()
            assert found or not is_over, log.read_text()
            return found

        self._until(has_said, log.read_text)

    def wait_until_up(self, process: subprocess.Popen[bytes]) -> None:
        """Return when the process has said that it is ready, or is dead."""
        log = self._log(process)
        self._until(
            lambda: "ready\n" in log.read_text() or process.poll() is not None, log.read_text
        )

    def wait_for_log(self, wanted: str) -> None:
        """Return when this was said or logged by any of them."""
        self._until(lambda: wanted in self.said, lambda: self.said)

    @staticmethod
    def _until(so: Callable[[], bool], tell: Callable[[], str]) -> None:
        until = time.monotonic() + PATIENCE
        while not so():
            assert time.monotonic() < until, tell()
            time.sleep(0.03)

    def close(self) -> None:
        for process in self.running:
            process.kill()
            process.wait()


def end(process: subprocess.Popen[bytes], number: int = signal.SIGTERM) -> int:
    """Send a signal and wait for the end; the return code."""
    process.send_signal(number)
    return process.wait(timeout=PATIENCE)


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
