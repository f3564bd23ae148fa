"""Settings, and the location that a connection's URL names."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal
from urllib.parse import unquote, urlsplit

from hookline_hookspecs import HooklineError
from hookline_hookspecs.setting_errors import Key
from hookline_hookspecs.standalone_entries import StandaloneEntries
from pydantic import BaseModel, Field, SecretStr, ValidationError

Mode = Literal["read-only", "write"]
SCHEMES = {
    "sqlite": "sqlite",
    "duckdb": "duckdb",
    "postgresql": "postgres",
    "postgres": "postgres",
    "mysql": "mysql",
    "mariadb": "mysql",
}
"""The engine of each URL scheme."""
URL_FORMS = "sqlite:///PATH, duckdb:///PATH, postgresql://USER@HOST/NAME or mysql://USER@HOST/NAME"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")
_FILES = frozenset({"sqlite", "duckdb"})


class ConnectionConfig(BaseModel):
    """A database, under ``connections: NAME:``."""

    url: SecretStr
    """URL of the database; ``vault:db/NAME`` keeps the password out of the file."""
    mode: Mode = "read-only"
    """``write`` allows ``db_write``, each time with approval."""


class DatabasesConfig(StandaloneEntries):
    """Settings under ``plugins: {databases: …}``."""

    connections: dict[str, ConnectionConfig] = Field(
        default_factory=dict, title="Databases", description="The databases by name."
    )
    timeout_seconds: float = Field(
        15.0,
        gt=0,
        le=300,
        title="Statement timeout (seconds)",
        description="Seconds that a statement may run.",
    )
    lock_seconds: float = Field(
        2.0,
        gt=0,
        le=60,
        title="Lock timeout (seconds)",
        description="Seconds that it may wait for a lock.",
    )
    max_rows: int = Field(
        500, ge=1, le=100_000, title="Rows per result", description="Rows fetched of a result."
    )
    max_bytes: int = Field(
        262_144,
        ge=1_024,
        le=50_000_000,
        title="Result size (bytes)",
        description="Bytes fetched of a result.",
    )
    max_shown: int = Field(
        50,
        ge=1,
        le=500,
        title="Rows shown to the model",
        description="Rows that the model reads at once; all are stored as CSV.",
    )
    max_cost: float = Field(
        10_000_000.0,
        gt=0,
        title="Query cost without approval",
        description=(
            "The planner's cost above which a query needs approval (PostgreSQL, MariaDB, MySQL)."
        ),
    )

    standalone: ClassVar[str] = "connections"

    @classmethod
    def entry_problem(cls, name: str, entry: object) -> tuple[Key, str] | None:
        """Return the invalid key of a connection, and what to write there; None if it is valid."""
        if wrong := wrong_name(name):
            return (), wrong
        if not isinstance(entry, Mapping | ConnectionConfig):
            return (), f"it is not a mapping; write {{url: …}} with {URL_FORMS}"
        try:
            ConnectionConfig.model_validate(entry)
        except ValidationError as error:
            return _explain_error(error, entry)
        return None


def _explain_error(error: ValidationError, entry: object) -> tuple[Key, str]:
    first = error.errors(include_url=False, include_input=False)[0]
    at = tuple(map(str, first["loc"]))
    if first["type"] == "missing":
        for key in map(str, entry) if isinstance(entry, Mapping) else ():
            if key not in ConnectionConfig.model_fields and difflib.get_close_matches(key, at):
                return (), f"unknown key {key}; did you mean {at[-1]}?"
        return (), f"it has no {at[-1]}; write {at[-1]}: {URL_FORMS}"
    return at, re.sub("^Input should be (a valid string)?", _wanted, first["msg"])


def _wanted(found: re.Match[str]) -> str:
    return "write text, in quotes" if found[1] else "write "


def wrong_name(name: str) -> str | None:
    """Why a connection may not have this name; None if it may."""
    if _NAME.fullmatch(name):
        return None
    return f"{name[:40]!r} is not a valid database name: use up to 32 letters, digits, - and _"


@dataclass(frozen=True, slots=True)
class DatabaseLocation:
    """The location of a database, without its password.

    ``engine`` is ``sqlite``, ``duckdb``, ``postgres`` or ``mysql``; ``path`` is that of a file
    database as it was written; ``display`` is what people and models may read.
    """

    engine: str
    path: str
    display: str

    @property
    def is_file(self) -> bool:
        """Whether it is a file: SQLite and DuckDB."""
        return self.engine in _FILES


def location_from_url(url: str, name: str) -> DatabaseLocation:
    """Parse a URL. Raises ``HooklineError``, whose message does not repeat the URL."""
    scheme, _, rest = url.partition("://")
    engine = SCHEMES.get(scheme.lower().partition("+")[0])
    if engine is None or not rest:
        hint = f" (it begins with {scheme[:20]!r})" if re.fullmatch(r"\w{1,20}", scheme) else ""
        raise HooklineError(f"the url of database {name} is not valid{hint}; write {URL_FORMS}")
    if engine in _FILES:
        path = unquote(rest.partition("?")[0])
        path = path[1:] if path.startswith("/") else path
        if not path or "\0" in path or path == ":memory:":
            raise HooklineError(f"the url of database {name} names no file; write {URL_FORMS}")
        return DatabaseLocation(engine, path, path)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "localhost", parts.port
        if "@" in parts.path + parts.query or parts.fragment:
            raise ValueError("a part of the password is taken for something else")
    except ValueError:
        raise HooklineError(
            f"the url of database {name} cannot be read; write {URL_FORMS}, in a password %2F "
            "for /, %3F for ?, %23 for # and %40 for @"
        ) from None
    database = unquote(parts.path.lstrip("/"))
    return DatabaseLocation(engine, "", f"{host}{f':{port}' if port else ''}/{database}")


def has_password(url: str) -> bool:
    """Whether a URL has a password, before its host or in its options."""
    parts = urlsplit(url)
    return bool(parts.password) or "password" in parts.query.lower()


def database_file(location: DatabaseLocation, workspace: Path) -> Path:
    """Return the file of a file database, its links resolved, relative to ``workspace``.

    ``sqlite:///tmp/x.db`` is relative, as usual; if it does not exist but ``/tmp/x.db`` does, that
    is used.
    """
    written = Path(location.path).expanduser()
    found = workspace / written
    if not written.is_absolute() and not found.exists():
        absolute = Path("/") / written
        if absolute.is_file():
            found = absolute
    return found.resolve()
