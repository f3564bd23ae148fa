"""A MariaDB server for tests, from Debian's packages unpacked into a cache and not installed.

PyPI has no wheel of it. Where there is no apt (or no network), :func:`programs` says so and the
tests that need it are skipped.
"""

from __future__ import annotations

import fcntl
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

PACKAGES = ("mariadb-server-core", "mariadb-client-core", "mariadb-common", "liburing2", "libaio1")
SETTINGS = {
    "skip-networking": "ON",
    "skip-name-resolve": "ON",
    "innodb-flush-log-at-trx-commit": "0",
    "innodb-buffer-pool-size": "64M",
    "innodb-log-file-size": "16M",
    "sync-binlog": "0",
    "performance-schema": "ON",
    "userstat": "ON",
}
"""Reached by a socket in its folder alone; what it holds does not outlive the machine's power."""
PATIENCE = 120.0
"""Seconds that starting may take on a busy machine."""


class NoMariaDB(RuntimeError):
    """There is none here; a sentence that says why."""


def programs() -> Path:
    """The folder that holds the unpacked packages (``usr/sbin/mariadbd`` below it).

    They are fetched once and stay in the user's cache. Raises :class:`NoMariaDB`.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path(tempfile.gettempdir()))
    root = cache / f"hookline-mariadb-{os.getuid()}"
    if not (root / "complete").exists():
        if shutil.which("apt-get") is None or shutil.which("dpkg") is None:
            raise NoMariaDB("MariaDB is unpacked from Debian's packages, and apt is not here")
        root.mkdir(parents=True, exist_ok=True)
        with (root / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (root / "complete").exists():
                _unpack(root)
                (root / "complete").touch()
    return root


def _unpack(root: Path) -> None:
    packages = root / "packages"
    packages.mkdir(exist_ok=True)
    fetched = subprocess.run(
        ["apt-get", "download", "-q", *PACKAGES],
        cwd=packages,
        capture_output=True,
        text=True,
        check=False,
    )
    if fetched.returncode:
        raise NoMariaDB(f"apt-get download of MariaDB failed: {fetched.stderr.strip()[-300:]}")
    for package in packages.glob("*.deb"):
        subprocess.run(["dpkg", "-x", package, root], check=True, capture_output=True)
    shutil.rmtree(packages)


class Server:
    """A running server. Its user ``root`` has no password and may do everything."""

    def __init__(self, folder: Path, **settings: str) -> None:
        """Make the data in the new ``folder`` and start. Raises :class:`NoMariaDB` and
        ``RuntimeError``."""
        self._programs = programs()
        self.folder, self.socket = folder, folder / "socket"
        self._settings = {**SETTINGS, **settings}
        self._user: dict[str, Any] = {}
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        if os.getuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(folder, nobody.pw_uid, nobody.pw_gid)
            self._user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": ()}
        self._install()
        self.process = self._start()

    def url(self, database: str = "", user: str = "root") -> str:
        """The address of a database for a user without a password."""
        return f"mysql://{user}@localhost/{database}?unix_socket={self.socket}"

    def connect(self, database: str | None = None, user: str = "root") -> Any:
        """A new connection of PyMySQL, in autocommit."""
        import pymysql

        return pymysql.connect(
            unix_socket=str(self.socket), user=user, database=database, autocommit=True
        )

    def stop(self) -> None:
        """End it at once."""
        with suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait(60)

    def _environment(self) -> dict[str, str]:
        libraries = {str(found.parent) for found in self._programs.glob("usr/lib/*/*.so.*")}
        return {"PATH": os.environ.get("PATH", ""), "LD_LIBRARY_PATH": ":".join(sorted(libraries))}

    def _install(self) -> None:
        usr = self._programs / "usr"
        made = subprocess.run(
            [
                usr / "bin" / "mariadb-install-db",
                "--no-defaults",
                f"--basedir={usr}",
                f"--datadir={self.folder / 'data'}",
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
                "--skip-name-resolve",
                "--innodb-flush-log-at-trx-commit=0",
            ],
            cwd=self.folder,
            env=self._environment(),
            capture_output=True,
            text=True,
            check=False,
            **self._user,
        )
        if made.returncode:
            raise RuntimeError(f"mariadb-install-db failed: {(made.stdout + made.stderr)[-2000:]}")

    def _start(self) -> subprocess.Popen[bytes]:
        usr = self._programs / "usr"
        log = self.folder / "log"
        with log.open("ab") as stream:
            process = subprocess.Popen(
                [
                    usr / "sbin" / "mariadbd",
                    "--no-defaults",
                    f"--basedir={usr}",
                    f"--datadir={self.folder / 'data'}",
                    f"--socket={self.socket}",
                    f"--pid-file={self.folder / 'pid'}",
                    *(f"--{name}={value}" for name, value in self._settings.items()),
                ],
                cwd=self.folder,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                start_new_session=True,
                **self._user,
            )
        deadline = time.monotonic() + PATIENCE
        while not self._answers():
            if process.poll() is not None or time.monotonic() > deadline:
                process.kill()
                process.wait()
                raise RuntimeError(log.read_text(errors="replace")[-2000:])
            time.sleep(0.05)
        return process

    def _answers(self) -> bool:
        import pymysql

        if not self.socket.exists():  # PyMySQL would leave its own end open
            return False
        try:
            self.connect().close()
        except pymysql.err.OperationalError:
            return False
        return True


@contextmanager
def server(**settings: str) -> Iterator[Server]:
    """A server in a new folder on disk, which is removed at the end.

    Not below pytest's folder: a socket's path may have 107 bytes. Raises :class:`NoMariaDB`.
    """
    programs()
    folder = Path(tempfile.mkdtemp(prefix="hookline-my-"))
    folder.chmod(0o755)
    made = None
    try:
        made = Server(folder, **settings)
        yield made
    finally:
        if made is not None:
            made.stop()
        shutil.rmtree(folder, ignore_errors=True)
