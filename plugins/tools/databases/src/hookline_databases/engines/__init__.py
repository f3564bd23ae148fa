"""The engines. Each is imported when a database of its kind is first used."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import Refused, ToolError

from ..config import Place, file_of
from ..own import is_own

if TYPE_CHECKING:
    from .base import Engine

_CLASSES = {"sqlite": "Sqlite", "duckdb": "DuckDb", "postgres": "Postgres", "mysql": "MySql"}
_DRIVERS = {"duckdb": "duckdb", "postgres": "psycopg", "mysql": "pymysql"}


def engine_for(place: Place, url: str, *, home: Path, workspace: Path) -> Engine:
    """Return the engine of a connection.

    Raises:
        Refused: the file is Hookline's own.
        ToolError: there is no such file, or the driver is not installed.
    """
    given: Any = url
    if place.is_file:
        given = file_of(place, workspace)
        if is_own(given, home, workspace):
            raise Refused("this is a file of Hookline's own, which no tool may read or change")
        if not given.is_file():
            raise ToolError(f"there is no file {given}; nothing was created")
    try:
        if (driver := _DRIVERS.get(place.engine)) is not None:
            import_module(driver)
    except ImportError:
        raise ToolError(
            f"the driver for {place.engine} is not installed; "
            f"run: pip install 'hookline-databases[{place.engine}]'"
        ) from None
    module = import_module(f".{place.engine}", __package__)
    made: Engine = getattr(module, _CLASSES[place.engine])(given)
    return made
