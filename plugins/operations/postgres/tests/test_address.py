"""Values of ``store:``; no password is ever shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from hookline_hookspecs.errors import StoreError
from hookline_postgres import PostgresStore

HOME = Path("/h/.hookline")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ann:s3cret@db.example/work", "postgresql://ann@db.example/work"),
        ("postgresql://ann:s3%40cret@db:5433/w", "postgresql://ann@db:5433/w"),
        ("postgresql://db/w?user=ann&password=s3cret", "postgresql://ann@db/w"),
        ("postgresql://ann@/w?host=/run/pg", "postgresql://ann@/run/pg/w"),
        ("postgresql://db/w?schema=mine", "postgresql://db/w?schema=mine"),
        ("postgres://db/w", "postgresql://db/w"),
    ],
)
def test_address_is_shown_without_password(url: str, shown: str) -> None:
    assert PostgresStore(url, HOME).location() == shown


@pytest.mark.parametrize(
    "password", ["s3@cret", "s3/cret", "s3#cret", "12/cret@x", "s3:cret@", "s3?cret", "%zz"]
)
def test_unquoted_password_is_reported_and_not_shown(password: str) -> None:
    url = f"postgresql://ann:{password}@db/work"
    try:
        shown = PostgresStore(url, HOME).location()
    except StoreError as error:
        shown = str(error)
        assert "%40 for @" in shown
    assert "cret" not in shown


@pytest.mark.parametrize("schema", ["a-b", "A", "a;drop", "", "1a", "a" * 64])
def test_invalid_schema_name_is_refused(schema: str) -> None:
    if schema:
        with pytest.raises(StoreError, match="Invalid schema"):
            PostgresStore(f"postgresql://db/w?schema={schema}", HOME)
    else:
        assert PostgresStore("postgresql://db/w?schema=", HOME).location() == "postgresql://db/w"


def test_per_home_schema_differs_by_home() -> None:
    url = "postgresql://db/w?schema=per-home"
    one, other = (PostgresStore(url, Path(name)).location() for name in ("/a", "/b"))
    assert one != other
    assert one == PostgresStore(url, Path("/a")).location()
