"""Putting a home in the place of another, in one step that a kill cannot divide.

The backup is unpacked and checked in a new folder beside the home. Then the two folders change
places (``renameat2`` with ``RENAME_EXCHANGE``, Linux 3.15), and the home that was there stays
beside it as ``NAME.before-TIME``. Where a system cannot exchange folders, two renames do it, and
between them there is no home.
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

from .archive import BackupError, Manifest
from .contents import DATABASE, contents_of
from .holding import HELD, Held, hold
from .verifying import unpack

NEW = ".restoring"
"""In a folder that is not a home yet: its marker, and the beginning of what follows its name."""
ACTIVE = "active-profile"
"""Which of the home's profiles is in use, as ``profiles`` writes it."""
_AT_CWD, _EXCHANGE = -100, 2


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restore did; ``before`` is where the earlier home is, None if there was none."""

    manifest: Manifest
    held: Held
    before: Path | None


def restore(
    path: Path,
    passphrase: str | None,
    home: Path,
    paths: Paths,
    now: float,
    *,
    resend: bool = False,
) -> Restored:
    """Make ``home`` what the backup ``path`` holds.

    Args:
        path: the backup; it is checked before anything is changed.
        passphrase: of an encrypted one.
        home: the folder; what is there is kept beside it.
        paths: knows which files hold credentials.
        now: Unix time in seconds; jobs due by then are held.
        resend: send and run what was open, too.

    Raises:
        BackupError: the backup is not whole, or the home is in use or cannot be moved.
    """
    home = home.absolute()
    with alone(home), _profiles_at_rest(home):
        tidy(home)
        new = _new_folder(home)
        try:
            manifest = unpack(path, passphrase, new)
            point("restore-unpacked")
            held = Held() if resend else hold(new, now)
            _keep_secrets(home, new, paths)
            point("restore-ready")
            before = _swap(home, new)
        except BaseException:
            _discard(new)
            raise
    return Restored(manifest, held, before)


def undo(home: Path) -> Path:
    """Put the home back that the last restore replaced; where the restored one is then.

    Raises :class:`BackupError` if there is none, or the home is in use.
    """
    home = home.absolute()
    with alone(home), _profiles_at_rest(home):
        tidy(home)
        earlier = sorted(home.parent.glob(f"{home.name}.before-*"))
        if not earlier:
            raise BackupError(f"no restore can be undone: there is no {home}.before-…")
        (earlier[-1] / NEW).touch(0o600)
        after = _swap(home, earlier[-1])
    assert after is not None
    return after


def tidy(home: Path) -> None:
    """Finish, or clear away, what a killed restore left beside the home."""
    (home / NEW).unlink(missing_ok=True)
    for folder in home.parent.glob(f".{home.name}{NEW}-*"):
        if (folder / NEW).exists():
            shutil.rmtree(folder)
        else:
            _set_aside(home, folder)
    _let_stay(home)


@contextmanager
def _profiles_at_rest(home: Path) -> Iterator[None]:
    """Hold the locks of the home's profiles, which are moved with it.

    Raises :class:`BackupError` if one of them is in use.
    """
    with ExitStack() as locks:
        for folder in sorted((home / "profiles").glob("[!.]*/")):
            locks.enter_context(alone(folder))
        yield


@contextmanager
def alone(home: Path) -> Iterator[None]:
    """Hold the home's lock, and be sure that no process has its database open.

    Raises :class:`BackupError` otherwise.
    """
    from filelock import FileLock, Timeout

    if not home.exists():
        yield
        return
    lock = FileLock(home / "gateway.lock", mode=0o600)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise BackupError(f"a gateway works in {home}; stop it first") from None
    try:
        _nobody_reads(home / DATABASE)
        yield
    finally:
        lock.release()


def _nobody_reads(database: Path) -> None:
    """SQLite leaves WAL mode only where nobody else has the database open."""
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
            return  # a damaged one is what a restore is for
        raise BackupError(
            f"another hookline process has {database} open; end it first (chat, run, worker)"
        ) from None
    except sqlite3.DatabaseError:
        return


def _new_folder(home: Path) -> Path:
    new = home.parent / f".{home.name}{NEW}-{secrets.token_hex(4)}"
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        new.mkdir(mode=0o700)
        (new / NEW).touch(0o600)
    except OSError as error:
        raise BackupError(
            f"no folder can be made beside {home}: {error.strerror or error}; restore to another "
            "place with --to"
        ) from error
    return new


def _keep_secrets(home: Path, new: Path, paths: Paths) -> None:
    """Copy the home's secrets that the backup does not hold."""
    if not home.exists():
        return
    for name in contents_of(home, paths, secrets=False).secrets:
        if not (new / name).exists():
            (new / name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            shutil.copy2(home / name, new / name)


def _swap(home: Path, new: Path) -> Path | None:
    try:
        if not home.exists():
            new.rename(home)
            (home / NEW).unlink(missing_ok=True)
            _let_stay(home)
            return None
        if _exchange(new, home):
            point("restore-swapped")
            before = _set_aside(home, new)
        else:
            before = _set_aside(home, home)
            point("restore-swapped")
            new.rename(home)
    except OSError as error:
        raise BackupError(
            f"{home} cannot be replaced: {error.strerror or error}; if it is a mounted folder, "
            "restore to a new one with --to and mount that"
        ) from error
    (home / NEW).unlink(missing_ok=True)
    _sync(home.parent)
    point("restore-set-aside")
    _let_stay(home)
    return before


def _set_aside(home: Path, folder: Path) -> Path:
    time = datetime.now(UTC)
    before = home.with_name(f"{home.name}.before-{time:%Y%m%dT%H%M%S.%f}")
    folder.rename(before)
    return before


def _let_stay(home: Path) -> None:
    """Backups and profiles stay with the home, whichever it is; also those a kill left behind."""
    if not home.is_dir():
        return
    for before in sorted(home.parent.glob(f"{home.name}.before-*"), reverse=True):
        for folder in ("backups", "profiles"):
            if (before / folder).is_dir():
                (home / folder).mkdir(mode=0o700, exist_ok=True)
                for path in (before / folder).iterdir():
                    if path.name != HELD and not (home / folder / path.name).exists():
                        path.rename(home / folder / path.name)
        if (before / ACTIVE).is_file() and not (home / ACTIVE).exists():
            (before / ACTIVE).rename(home / ACTIVE)


def _exchange(one: Path, other: Path) -> bool:
    """Have two folders change places; False where the system cannot."""
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
    if (new / NEW).exists():
        shutil.rmtree(new, ignore_errors=True)


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
