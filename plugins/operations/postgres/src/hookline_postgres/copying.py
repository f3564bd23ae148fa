"""A copy of the database in one file, by PostgreSQL's own ``pg_dump``."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from hookline_hookspecs.errors import StoreError
from psycopg.conninfo import conninfo_to_dict

from .address import Address


def dump(where: Address, path: Path) -> None:
    """Write what ``pg_restore`` reads to the new file ``path``. Raises ``StoreError``."""
    if (program := shutil.which("pg_dump")) is None:
        raise StoreError(
            f"A copy of {where.shown} needs pg_dump, which is not installed. Install PostgreSQL's "
            "client programs, or make the copy where the server is: pg_dump --format=custom."
        )
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError as error:
        reason = error.strerror or error
        raise StoreError(f"The copy {path} cannot be made: {reason}. Choose another.") from error
    command = [program, "--format=custom", "--no-owner", "--no-password", f"--file={path}"]
    command += [f"--schema={where.schema}"] if where.schema else []
    # The password is in the environment, where other users do not see it; so is all the rest.
    names = {"dbname": "PGDATABASE", "options": "PGOPTIONS", "application_name": "PGAPPNAME"}
    given = conninfo_to_dict(where.conninfo).items()
    unset = {"keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout"}
    settings = {
        names.get(name, "PG" + name.replace("_", "").upper()): str(value)
        for name, value in given
        if name not in unset
    }
    try:
        made = subprocess.run(
            command, env={**os.environ, **settings}, capture_output=True, text=True, check=False
        )
        if made.returncode:
            raise StoreError(f"pg_dump of {where.shown} failed: {' '.join(made.stderr.split())}")
    except BaseException:
        path.unlink(missing_ok=True)
        raise
