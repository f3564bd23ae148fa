"""Replaces a home with a restored one, in one step that a kill cannot interrupt halfway.

The backup is unpacked and checked in a new folder beside the home. Then the two folders are
exchanged (``renameat2`` with ``RENAME_EXCHANGE``, Linux 3.15), and the previous home stays
beside it as ``NAME.before-TIME``. Systems that cannot exchange folders need two renames; between
them there is no home.
"""

from __future__ import annotations

import ctypes
import errno
import os
import secrets
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from hookline_hookspecs import Paths
from hookline_hookspecs.crash import point
from hookline_hookspecs.process_lock import gateway_lock

from .archive import BackupError, Manifest
from .contents import DATABASE, list_contents
from .held_work import HELD_FILE, HeldWork, hold_open_work
from .verification import unpack

NEW_HOME_MARKER = ".restoring"
"""The marker file in a folder that is not a home yet, and a part of that folder's name."""
ACTIVE_PROFILE = "active-profile"
"""The file with the name of the profile in use, written by ``hookline profile use``."""
_AT_CWD, _EXCHANGE = -100, 2


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """The result of a restore; ``before`` is the folder of the previous home, if there was one."""

    manifest: Manifest
    held: HeldWork
    before: Path | None


def restore(
    path: Path,
    passphrase: str | None,
    home: Path,
    paths: Paths,
    now: float,
    *,
    resend: bool = False,
) -> RestoreResult:
    """Replace ``home`` with the content of the backup ``path``.

    Args:
        path: the backup; it is checked before anything is changed.
        passphrase: the passphrase of an encrypted backup.
        home: the folder; the previous home is kept beside it.
        paths: knows which files contain credentials.
        now: Unix time in seconds; jobs due by then are held.
        resend: do not hold open work back.

    Raises:
        BackupError: the backup is damaged, or the home is in use or cannot be moved.
    """
    home = home.absolute()
    with exclusive_home(home), _lock_profiles(home):
        clean_up_interrupted(home)
        new = _new_folder(home)
        try:
            manifest = unpack(path, passphrase, new)
            point("restore-unpacked")
            held = HeldWork() if resend else hold_open_work(new, now)
            _keep_secrets(home, new, paths)
            point("restore-ready")
            before = _swap(home, new)
        except BaseException:
            _discard(new)
            raise
    return RestoreResult(manifest, held, before)


def undo(home: Path) -> Path:
    """Put back the home that the last restore replaced; return the restored one's new folder.

    Raises :class:`BackupError` if there is none, or the home is in use.
    """
    home = home.absolute()
    with exclusive_home(home), _lock_profiles(home):
        clean_up_interrupted(home)
        earlier = sorted(home.parent.glob(f"{home.name}.before-*"))
        if not earlier:
            raise BackupError(f"nothing to undo: there is no {home}.before-…")
        (earlier[-1] / NEW_HOME_MARKER).touch(0o600)
        after = _swap(home, earlier[-1])
    assert after is not None
    return after


def clean_up_interrupted(home: Path) -> None:
    """Finish or remove what a killed restore left beside the home."""
    (home / NEW_HOME_MARKER).unlink(missing_ok=True)
    for folder in home.parent.glob(f".{home.name}{NEW_HOME_MARKER}-*"):
        if (folder / NEW_HOME_MARKER).exists():
            shutil.rmtree(folder)
        else:
            _move_aside(home, folder)
    _move_kept_folders(home)


@contextmanager
def _lock_profiles(home: Path) -> Iterator[None]:
    """Hold the locks of the home's profiles, which are moved with the home.

    Raises :class:`BackupError` if one of them is in use.
    """
    with ExitStack() as locks:
        for folder in sorted((home / "profiles").glob("[!.]*/")):
            locks.enter_context(exclusive_home(folder))
        yield


@contextmanager
def exclusive_home(home: Path) -> Iterator[None]:
    """Hold the home's lock while no process has its database open.

    Raises :class:`BackupError` otherwise.
    """
    from filelock import Timeout

    if not home.exists():
        yield
        return
    lock = gateway_lock(home)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise BackupError(f"a gateway is running in {home}; stop it first") from None
    try:
        _check_unused(home / DATABASE)
        yield
    finally:
        lock.release()


def _check_unused(database: Path) -> None:
    """Raise :class:`BackupError` if a process has the database open.

    SQLite can only leave WAL mode if no other process has the database open.
    """
    if not database.exists():
        return
    try:
        with closing(sqlite3.connect(database, timeout=0.2)) as connection:
            (mode,) = connection.execute("PRAGMA journal_mode=DELETE").fetchone()
            if mode != "delete":
                raise sqlite3.OperationalError("database is locked")
            connection.execute("PRAGMA journal_mode=WAL")
    except sqlite3.OperationalError as error:
        if "locked" not in str(error):
            return  # damaged; a restore replaces it
        raise BackupError(
            f"another hookline process (chat, run, worker) has {database} open; end it first"
        ) from None
    except sqlite3.DatabaseError:
        return


def _new_folder(home: Path) -> Path:
    new = home.parent / f".{home.name}{NEW_HOME_MARKER}-{secrets.token_hex(4)}"
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        new.mkdir(mode=0o700)
        (new / NEW_HOME_MARKER).touch(0o600)
    except OSError as error:
        raise BackupError(
            f"no folder can be made beside {home}: {error.strerror or error}; restore to another "
            "place with --to"
        ) from error
    return new


def _keep_secrets(home: Path, new: Path, paths: Paths) -> None:
    """Copy the home's secrets that are not in the backup."""
    if not home.exists():
        return
    for name in list_contents(home, paths, secrets=False).secrets:
        if not (new / name).exists():
            (new / name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            shutil.copy2(home / name, new / name)


def _swap(home: Path, new: Path) -> Path | None:
    try:
        if not home.exists():
            new.rename(home)
            (home / NEW_HOME_MARKER).unlink(missing_ok=True)
            _move_kept_folders(home)
            return None
        if _exchange(new, home):
            point("restore-swapped")
            before = _move_aside(home, new)
        else:
            before = _move_aside(home, home)
            point("restore-swapped")
            new.rename(home)
    except OSError as error:
        raise BackupError(
            f"{home} cannot be replaced: {error.strerror or error}. If it is a mounted folder, "
            "restore to a new one with --to and mount that"
        ) from error
    (home / NEW_HOME_MARKER).unlink(missing_ok=True)
    _sync(home.parent)
    point("restore-set-aside")
    _move_kept_folders(home)
    return before


def _move_aside(home: Path, folder: Path) -> Path:
    time = datetime.now(UTC)
    before = home.with_name(f"{home.name}.before-{time:%Y%m%dT%H%M%S.%f}")
    folder.rename(before)
    return before


def _move_kept_folders(home: Path) -> None:
    """Move backups and profiles to the current home, also those that a killed restore left."""
    if not home.is_dir():
        return
    for before in sorted(home.parent.glob(f"{home.name}.before-*"), reverse=True):
        for folder in ("backups", "profiles"):
            if (before / folder).is_dir():
                (home / folder).mkdir(mode=0o700, exist_ok=True)
                for path in (before / folder).iterdir():
                    if path.name != HELD_FILE and not (home / folder / path.name).exists():
                        path.rename(home / folder / path.name)
        if (before / ACTIVE_PROFILE).is_file() and not (home / ACTIVE_PROFILE).exists():
            (before / ACTIVE_PROFILE).rename(home / ACTIVE_PROFILE)


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two folders; False if the system cannot."""
    if sys.platform != "linux":
        return False
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        return False
    if call(_AT_CWD, os.fsencode(one), _AT_CWD, os.fsencode(other), _EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        return False
    raise OSError(code, os.strerror(code))


def _discard(new: Path) -> None:
    if (new / NEW_HOME_MARKER).exists():
        shutil.rmtree(new, ignore_errors=True)


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
