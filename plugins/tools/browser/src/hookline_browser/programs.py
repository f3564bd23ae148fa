"""Chromium's program and its command line, and what a dead process left of a browser."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from hookline_hookspecs import Storage
from hookline_hookspecs.process_lock import ProcessLock
from hookline_sandbox import allowed

NAMES = ("chromium", "chromium-browser", "google-chrome")
"""Programs that are looked for on PATH, in this order."""
INSTALL = "install it (Debian, Ubuntu: apt install chromium; macOS: brew install chromium)"
ARGUMENTS = (
    # A direct UDP packet would tell this machine's addresses, and reach those beside it.
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    # Names are looked up by the proxy's dialer alone.
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--dns-prefetch-disable",
    "--disable-quic",
    "--no-pings",
    "--disable-extensions",
    "--disable-crash-reporter",
)
_PREFIX = "hookline-browser-"


def find(executable: str | None) -> str | None:
    """Return the path of Chromium's program, or None."""
    names = (executable,) if executable else NAMES
    return next((found for name in names if (found := shutil.which(name))), None)


def is_root() -> bool:
    """True where Chromium has no sandbox of its own."""
    return hasattr(os, "geteuid") and os.geteuid() == 0


class RunFolder:
    """The temporary folder of this process's browser, and the note by which another process finds
    it when this one was killed.

    It lies in the system's folder for such, because a socket's address has 107 bytes (unix(7)).
    """

    path: Path

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._lock = ProcessLock(storage)

    def make(self) -> Path:
        """Remove what dead processes left; make this process's folder."""
        self._lock.hold()
        self._sweep()
        self.path = Path(tempfile.gettempdir()) / f"{_PREFIX}{secrets.token_hex(6)}"
        note = self._storage.dir / f"{self._lock.id}.run"
        note.write_text(json.dumps(str(self.path)), "utf-8")
        for name in ("", "tmp", "home", "downloads"):
            (self.path / name).mkdir(mode=0o700)
        return self.path

    def remove(self) -> None:
        """End what still runs in it, and delete it."""
        if hasattr(self, "path"):
            _clear(self.path)
        (self._storage.dir / f"{self._lock.id}.run").unlink(missing_ok=True)
        self._lock.release()

    def _sweep(self) -> None:
        for note in self._storage.dir.glob("*.run"):
            if note.stem == self._lock.id or self._lock.is_alive(note.stem):
                continue
            with suppress(OSError, ValueError):
                left = Path(str(json.loads(note.read_text("utf-8"))))
                if left.name.startswith(_PREFIX) and left.is_absolute():
                    _clear(left)
            note.unlink(missing_ok=True)
        self._lock.clean()


def environment(folder: Path, given: Mapping[str, str]) -> dict[str, str]:
    """Chromium's variables: no key, no proxy, and a home of its own."""
    kept = {n: v for n, v in allowed(given).items() if not n.casefold().endswith("_proxy")}
    kept.pop("DBUS_SESSION_BUS_ADDRESS", None)
    own = {"HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp")}
    for name in ("CONFIG", "CACHE", "DATA"):
        own[f"XDG_{name}_HOME"] = str(folder / "home" / name.lower())
    return kept | own


def _clear(folder: Path) -> None:
    """Kill the processes that name ``folder`` in their command line or environment; delete it."""
    for pid in _users(str(folder)):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)


def _users(folder: str) -> Iterator[int]:
    wanted = folder.encode()
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            pid = int(entry.name)
            if pid == os.getpid() or entry.stat().st_uid != os.geteuid():
                continue
            if wanted in (entry / "cmdline").read_bytes() or wanted in _variables(entry):
                yield pid


def _variables(entry: Path) -> bytes:
    with suppress(OSError):
        return (entry / "environ").read_bytes()
    return b""
