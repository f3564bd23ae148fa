"""The settings of the plugin, and what a connection's URL says."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Self
from urllib.parse import unquote, urlsplit

from hookline_hookspecs import HooklineError
from pydantic import (
    BaseModel,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    SecretStr,
    ValidationError,
    ValidationInfo,
    model_validator,
)

Mode = Literal["read-only", "write"]
SCHEMES = {
    "sqlite": "sqlite",
    "duckdb": "duckdb",
    "postgresql": "postgres",
    "postgres": "postgres",
    "mysql": "mysql",
    "mariadb": "mysql",
}
"""The schemes of a URL, and the engine of each."""
FORMS = "sqlite:///PATH, duckdb:///PATH, postgresql://USER@HOST/NAME or mysql://USER@HOST/NAME"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")
_FILES = frozenset({"sqlite", "duckdb"})


class ConnectionConfig(BaseModel):
    """A database, under ``connections: NAME:``."""

    url: SecretStr
    """Where it is; ``vault:db/NAME`` keeps the password out of the file."""
    mode: Mode = "read-only"
    """``write`` lets ``db_write`` change it, each time with a person's approval."""


class DatabasesConfig(BaseModel):
    """Settings under ``plugins: {databases: …}``."""

    connections: dict[str, ConnectionConfig] = Field(default_factory=dict)
    """The databases by name."""
    timeout_seconds: float = Field(15.0, gt=0, le=300)
    """How long a statement may run."""
    lock_seconds: float = Field(2.0, gt=0, le=60)
    """How long it may wait for a lock that somebody else holds."""
    max_rows: int = Field(500, ge=1, le=100_000)
    """Rows that are fetched of a result."""
    max_bytes: int = Field(262_144, ge=1_024, le=50_000_000)
    """Size of the values that are fetched of a result, in bytes."""
    max_shown: int = Field(50, ge=1, le=500)
    """Rows that the model reads at once; the others are kept as CSV."""
    max_cost: float = Field(10_000_000.0, gt=0)
    """The planner's cost above which a person is asked first (PostgreSQL and MariaDB)."""

    standalone: ClassVar[str] = "connections"
    """The key whose entries are used without the wrong ones among them."""
    _left_out: dict[tuple[str, ...], str] = PrivateAttr(default_factory=dict)

    @model_validator(mode="wrap")
    @classmethod
    def _without_wrong_connections(
        cls, data: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo
    ) -> Self:
        """Leave out, one by one, the connections that cannot be used; the others are."""
        written = data.get("connections") if isinstance(data, Mapping) else None
        if not isinstance(written, Mapping):
            return handler(data)
        # What a variable or the vault lacks for an entry.
        left_out: dict[tuple[str, ...], str] = dict((info.context or {}).get("left_out", {}))
        lacking = {at[1] for at in left_out}
        kept: dict[str, object] = {}
        for name, entry in written.items():
            if str(name) in lacking:
                continue
            at, why = _fault(str(name), entry)
            if why:
                left_out["connections", str(name), *at] = why
            else:
                kept[str(name)] = entry
        config = handler({**data, "connections": kept})
        config._left_out = left_out
        return config

    @property
    def left_out(self) -> Mapping[tuple[str, ...], str]:
        """What is wrong with the connections that are left out, by the key below ``databases`` that
        is wrong: ``("connections", NAME)``, or longer."""
        return self._left_out


def _fault(name: str, entry: object) -> tuple[tuple[str, ...], str]:
    """The key of a connection's ``entry`` that is wrong, and what to write there; "" if none is."""
    if (wrong := wrong_name(name)) is not None:
        return (), wrong
    if not isinstance(entry, Mapping | ConnectionConfig):
        return (), f"it is no mapping; write {{url: …}} with {FORMS}"
    try:
        ConnectionConfig.model_validate(entry)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
    else:
        return (), ""
    at = tuple(map(str, first["loc"]))
    if first["type"] == "missing":
        for key in map(str, entry) if isinstance(entry, Mapping) else ():
            if key not in ConnectionConfig.model_fields and difflib.get_close_matches(key, at):
                return (), f"unknown key {key}; did you mean {at[-1]}?"
        return (), f"it has no {at[-1]}; write {at[-1]}: {FORMS}"
    return at, re.sub("^Input should be (a valid string)?", _wanted, first["msg"])


def _wanted(found: re.Match[str]) -> str:
    return "write text, in quotes" if found[1] else "write "


def wrong_name(name: str) -> str | None:
    """Why a connection may not have this name; None if it may."""
    if _NAME.fullmatch(name):
        return None
    return f"{name[:40]!r} is no name of a database: write up to 32 letters, digits, - and _"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a database is, without its password.

    ``engine`` is ``sqlite``, ``duckdb``, ``postgres`` or ``mysql``; ``path`` is that of a file
    database as it was written; ``shown`` is what people and models may read.
    """

    engine: str
    path: str
    shown: str

    @property
    def is_file(self) -> bool:
        """True for SQLite and DuckDB."""
        return self.engine in _FILES


def place_of(url: str, name: str) -> Place:
    """Return what a URL says. Raises ``HooklineError`` with a sentence that does not repeat it."""
    scheme, _, rest = url.partition("://")
    engine = SCHEMES.get(scheme.lower().partition("+")[0])
    if engine is None or not rest:
        told = f" (it begins with {scheme[:20]!r})" if re.fullmatch(r"\w{1,20}", scheme) else ""
        raise HooklineError(f"the url of database {name} is none{told}; write {FORMS}")
    if engine in _FILES:
        path = unquote(rest.partition("?")[0])
        path = path[1:] if path.startswith("/") else path
        if not path or "\0" in path or path == ":memory:":
            raise HooklineError(f"the url of database {name} names no file; write {FORMS}")
        return Place(engine, path, path)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "localhost", parts.port
        if "@" in parts.path + parts.query or parts.fragment:
            raise ValueError("a part of the password is taken for something else")
    except ValueError:
        raise HooklineError(
            f"the url of database {name} cannot be read; write {FORMS}, in a password %2F for /, "
            "%3F for ?, %23 for # and %40 for @"
        ) from None
    database = unquote(parts.path.lstrip("/"))
    return Place(engine, "", f"{host}{f':{port}' if port else ''}/{database}")


def has_password(url: str) -> bool:
    """Whether a URL holds a password, before its host or among its options."""
    parts = urlsplit(url)
    return bool(parts.password) or "password" in parts.query.lower()


def file_of(place: Place, workspace: Path) -> Path:
    """Return the file of a file database, its links resolved; relative to ``workspace``.

    ``sqlite:///tmp/x.db`` is relative, as everywhere; where there is no such file but ``/tmp/x.db``
    is one, that is meant.
    """
    written = Path(place.path).expanduser()
    found = workspace / written
    if not written.is_absolute() and not found.exists():
        absolute = Path("/") / written
        if absolute.is_file():
            found = absolute
    return found.resolve()
