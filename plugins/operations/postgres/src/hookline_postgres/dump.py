"""Dumps the database into one file with PostgreSQL's ``pg_dump``."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from hookline_hookspecs.errors import StoreError
from hookline_hookspecs.own_programs import own_program
from psycopg.conninfo import conninfo_to_dict

from .address import DatabaseAddress


def dump_database(where: DatabaseAddress, path: Path) -> None:
    """Write a dump for ``pg_restore`` to the new file ``path``. Raises ``StoreError``."""
    if (program := own_program("pg_dump")) is None:
        raise StoreError(
            f"A dump of {where.shown} needs pg_dump, which is not installed. Install PostgreSQL's "
            "client programs, or run `pg_dump --format=custom` on the server."
        )
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError as error:
        reason = error.strerror or error
        raise StoreError(f"Cannot create {path}: {reason}. Choose another path.") from error
    command = [program, "--format=custom", "--no-owner", "--no-password", f"--file={path}"]
    command += [f"--schema={where.schema}"] if where.schema else []
    # The environment hides the password from other users; the other parameters go there too.
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
