"""The engines. Each is imported when a database of its kind is first used."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import Refused, ToolError

from ..config import DatabaseLocation, database_file
from ..protected_files import is_hookline_file

if TYPE_CHECKING:
    from .base import DatabaseEngine

_CLASSES = {"sqlite": "Sqlite", "duckdb": "DuckDb", "postgres": "Postgres", "mysql": "MySql"}
_DRIVERS = {"duckdb": "duckdb", "postgres": "psycopg", "mysql": "pymysql"}


def engine_for(
    location: DatabaseLocation, url: str, *, home: Path, workspace: Path
) -> DatabaseEngine:
    """Return the engine of a connection.

    Raises:
        Refused: the file belongs to Hookline.
        ToolError: the file does not exist, or the driver is not installed.
    """
    address: Any = url
    if location.is_file:
        address = database_file(location, workspace)
        if is_hookline_file(address, home, workspace):
            raise Refused("this file belongs to Hookline; no tool may read or change it")
        if not address.is_file():
            raise ToolError(f"{address} does not exist; nothing was created")
    try:
        if (driver := _DRIVERS.get(location.engine)) is not None:
            import_module(driver)
    except ImportError:
        raise ToolError(
            f"the driver for {location.engine} is not installed; "
            f"run: pip install 'hookline-databases[{location.engine}]'"
        ) from None
    module = import_module(f".{location.engine}", __package__)
    engine: DatabaseEngine = getattr(module, _CLASSES[location.engine])(address)
    return engine
