"""Finds the migrations of a component that a database has not had yet."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from hookline_hookspecs.drivers import Connection, Migration
from hookline_hookspecs.errors import StoreError


def checksum(step: Migration) -> str:
    """The recorded checksum of a step, independent of line endings."""
    return hashlib.sha256("\n".join(step.sql.splitlines()).encode()).hexdigest()


def due(connection: Connection, component: str, steps: Sequence[Migration]) -> list[Migration]:
    """The steps that are not recorded yet, in order.

    Raises:
        StoreError: the recorded steps do not match ``steps``, or the store is an unfinished copy.
    """
    known = {step.number: step for step in sorted(steps, key=lambda step: step.number)}
    if len(known) < len(steps):
        raise StoreError(f"Two migrations of {component} have the same number.")
    sql = (
        "SELECT component, number, name, checksum FROM migrations "
        "WHERE component = :component OR component = 'copy' ORDER BY component <> 'copy', number"
    )
    for row in connection.fetch(sql, {"component": component}):
        if row["component"] == "copy":  # row 0 of hookline.store.copy
            raise StoreError(
                f"This store is an unfinished copy of {row['name']}. Run "
                "`hookline store copy` again with the same arguments, or name another store."
            )
        step = known.pop(row["number"], None)
        if step is None:
            raise StoreError(_newer_tables(component, row["number"]))
        if checksum(step) != row["checksum"]:
            raise StoreError(
                f"Migration {step.number} ({step.name}) of {component} was changed after it "
                "was applied. Restore the file and add a new step instead."
            )
    return list(known.values())


def _newer_tables(component: str, number: int) -> str:
    """What to do about tables that a later version of a component has migrated."""
    what = f"The tables of {component} are newer than this version (migration {number})."
    owner = component if component.startswith("plugin ") else "hookline"
    return f"{what} Update {owner}, or restore the newest of its backups."
