"""The home's lock: one gateway for each home."""

from __future__ import annotations

from pathlib import Path

from filelock import FileLock, Timeout

from .telling import stop


def alone(home: Path) -> FileLock:
    """The lock, held; the system frees it when the process dies.

    Ends with ``SystemExit`` where another gateway holds it.
    """
    lock = FileLock(home / "gateway.lock", mode=0o600)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        stop(f"another gateway runs on {home}; stop it first, or choose another --home")
    return lock
