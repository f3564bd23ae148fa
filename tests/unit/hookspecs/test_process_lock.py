"""Which processes are alive, tested with real ones."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hookline_hookspecs.process_lock import ProcessLock

OTHER = """
import sys
from pathlib import Path
from types import SimpleNamespace
from hookline_hookspecs.process_lock import ProcessLock
lock = ProcessLock(SimpleNamespace(dir=Path(sys.argv[1])))
lock.hold()
print(lock.id, flush=True)
sys.stdin.read()
lock.release()
"""


@pytest.fixture
def storage(tmp_path: Path) -> Any:
    """The part of a plugin's storage that a lock needs: its folder."""
    return SimpleNamespace(dir=tmp_path)


@contextmanager
def other_process(storage: Any) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process that holds its lock, and its id; it ends cleanly when its input does."""
    command = [sys.executable, "-c", OTHER, str(storage.dir)]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:
        assert process.stdout
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def state(lock: ProcessLock, process: str) -> tuple[bool, bool]:
    """Whether a process is alive, and whether it is dead."""
    return lock.is_alive(process), lock.is_dead(process)


@pytest.mark.slow
def test_killed_process_is_dead(storage: Any) -> None:
    lock = ProcessLock(storage)
    with other_process(storage) as (process, name):
        assert state(lock, name) == (True, False)
        process.kill()
        process.wait()
        assert state(lock, name) == (False, True)


@pytest.mark.slow
def test_process_that_ended_cleanly_is_neither_alive_nor_dead(storage: Any) -> None:
    lock = ProcessLock(storage)
    with other_process(storage) as (process, name):
        process.communicate()
        assert state(lock, name) == (False, False)
    assert list(storage.dir.iterdir()) == []


def test_process_is_alive_while_it_holds_its_lock(storage: Any) -> None:
    lock, other = ProcessLock(storage), ProcessLock(storage)
    assert state(lock, lock.id) == (False, False)
    lock.hold()
    lock.hold()
    assert state(lock, lock.id) == state(other, lock.id) == (True, False)
    assert (storage.dir / f"{lock.id}.lock").stat().st_mode & 0o777 == 0o600
    lock.release()
    assert state(lock, lock.id) == state(other, lock.id) == (False, False)


@pytest.mark.slow
def test_lock_files_of_dead_processes_are_deleted(storage: Any) -> None:
    lock = ProcessLock(storage)
    lock.hold()
    names = []
    for _ in range(2):
        with other_process(storage) as (process, name):
            process.kill()
            names.append(name)
    lock.clean(keep={names[0]})
    assert {path.stem for path in storage.dir.glob("*.lock")} == {lock.id, names[0]}
    lock.clean()
    assert [path.stem for path in storage.dir.glob("*.lock")] == [lock.id]
