"""Chromium's program, command line and environment, and its temporary folder."""

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
from hookline_hookspecs.own_programs import own_program
from hookline_hookspecs.process_lock import ProcessLock
from hookline_sandbox import allowed

PROGRAM_NAMES = ("chromium", "chromium-browser", "google-chrome")
"""Programs searched for on PATH, in this order."""
INSTALL = "install it (Debian, Ubuntu: apt install chromium; macOS: brew install chromium)"
ARGUMENTS = (
    # A direct UDP packet would reveal this machine's addresses and reach its neighbours.
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    # Only the proxy's dialer resolves names.
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--dns-prefetch-disable",
    "--disable-quic",
    "--no-pings",
    "--disable-extensions",
    "--disable-crash-reporter",
)
_PREFIX = "hookline-browser-"


def find_program(executable: str | None) -> str | None:
    """Return the path of Chromium's program, or None."""
    names = (executable,) if executable else PROGRAM_NAMES
    return next((found for name in names if (found := own_program(name))), None)


def is_root() -> bool:
    """Whether Hookline runs as root, where Chromium has no sandbox of its own."""
    return hasattr(os, "geteuid") and os.geteuid() == 0


class RunFolder:
    """The temporary folder of this process's browser, and a note by which the next process finds
    it if this one is killed.

    It is in the system's temporary folder, because the path of a socket has at most 107 bytes
    (unix(7)).
    """

    path: Path

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._lock = ProcessLock(storage)

    def make(self) -> Path:
        """Remove folders of dead processes and create that of this one."""
        self._lock.hold()
        self._sweep()
        self.path = Path(tempfile.gettempdir()) / f"{_PREFIX}{secrets.token_hex(6)}"
        note = self._storage.dir / f"{self._lock.id}.run"
        note.write_text(json.dumps(str(self.path)), "utf-8")
        for name in ("", "tmp", "home", "downloads"):
            (self.path / name).mkdir(mode=0o700)
        return self.path

    def remove(self) -> None:
        """Kill processes that use the folder, and delete it."""
        if hasattr(self, "path"):
            _remove_folder(self.path)
        (self._storage.dir / f"{self._lock.id}.run").unlink(missing_ok=True)
        self._lock.release()

    def _sweep(self) -> None:
        for note in self._storage.dir.glob("*.run"):
            if note.stem == self._lock.id or self._lock.is_alive(note.stem):
                continue
            with suppress(OSError, ValueError):
                stale = Path(str(json.loads(note.read_text("utf-8"))))
                if stale.name.startswith(_PREFIX) and stale.is_absolute():
                    _remove_folder(stale)
            note.unlink(missing_ok=True)
        self._lock.clean()


def environment(folder: Path, variables: Mapping[str, str]) -> dict[str, str]:
    """Chromium's environment: no keys, no proxies, and a private home."""
    inherited = {n: v for n, v in allowed(variables).items() if not n.casefold().endswith("_proxy")}
    inherited.pop("DBUS_SESSION_BUS_ADDRESS", None)
    private = {"HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp")}
    for name in ("CONFIG", "CACHE", "DATA"):
        private[f"XDG_{name}_HOME"] = str(folder / "home" / name.lower())
    return inherited | private


def _remove_folder(folder: Path) -> None:
    """Kill the processes that name ``folder`` in their command line or environment; delete it."""
    for pid in _processes_using(str(folder)):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)


def _processes_using(folder: str) -> Iterator[int]:
    needle = folder.encode()
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            pid = int(entry.name)
            if pid == os.getpid() or entry.stat().st_uid != os.geteuid():
                continue
            if needle in (entry / "cmdline").read_bytes() or needle in _environ_bytes(entry):
                yield pid


def _environ_bytes(entry: Path) -> bytes:
    with suppress(OSError):
        return (entry / "environ").read_bytes()
    return b""
