"""The lock of a home: one gateway per home."""

from __future__ import annotations

from pathlib import Path

from filelock import FileLock, Timeout

from .console import exit_with


def lock_home(home: Path) -> FileLock:
    """Acquire the lock; the system releases it when the process dies.

    Raises ``SystemExit`` if another gateway holds it.
    """
    lock = FileLock(home / "gateway.lock", mode=0o600)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        exit_with(f"another gateway is running on {home}; stop it first, or use another --home")
    return lock
