"""Parses the URL in ``store:`` into libpq's connection string, a schema and a text to show."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from hookline_hookspecs.errors import StoreError
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict, make_conninfo

PER_HOME = "per-home"
DEFAULT_PARAMETERS = {
    "application_name": "hookline",
    "connect_timeout": "10",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    # Milliseconds after which unconfirmed data breaks the connection.
    "tcp_user_timeout": "15000",
}
"""Default parameters for libpq; those in the URL override them."""
SERVER_SETTINGS = (
    "-c client_min_messages=warning "
    # A process that is suspended during a transaction loses its locks after this time.
    "-c idle_in_transaction_session_timeout=10s"
)


@dataclass(frozen=True, slots=True)
class DatabaseAddress:
    """The address of a database.

    ``conninfo`` is libpq's connection string with the password, never to be shown; ``shown`` is for
    people. An empty ``schema`` means the role's default schema.
    """

    conninfo: str
    shown: str
    schema: str = ""


def parse_address(url: str, home: Path) -> DatabaseAddress:
    """Parse ``url`` for ``home``.

    Hookline's own parameter ``schema`` names the schema for its tables, so that several homes can
    share one database; ``per-home`` creates one for each home.

    Raises:
        StoreError: the URL is invalid. The message repeats neither the URL nor libpq's message,
            because both may contain a part of the password.
    """
    parts = urlsplit(url)
    given = parse_qsl(parts.query, keep_blank_values=True)
    schema = dict(given).get("schema", "")
    if schema == PER_HOME:
        digest = hashlib.sha256(str(home.resolve()).encode("utf-8", "surrogateescape"))
        schema = f"home_{digest.hexdigest()[:24]}"
    if schema and not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", schema):
        raise StoreError(
            f"Invalid schema {schema!r} in `store:`. Use lower-case letters, digits and _."
        )
    query = urlencode([(name, value) for name, value in given if name != "schema"])
    try:
        parameters = conninfo_to_dict(urlunsplit(parts._replace(query=query)))
        # An @ here is the rest of a password that has one.
        if "@" in f"{parameters.get('host')}{parameters.get('dbname')}":
            raise ValueError
    except (ProgrammingError, ValueError):
        raise StoreError(
            "The address in `store:` is invalid. Write it like "
            "postgresql://USER:PASSWORD@HOST:PORT/DATABASE. In a password, write %40 for @, %3A "
            "for :, %2F for / and %23 for #."
        ) from None
    search = f"-c search_path={schema}" if schema else ""
    options = " ".join(
        filter(None, (SERVER_SETTINGS, str(parameters.get("options") or ""), search))
    )
    host = str(parameters.get("host") or "this machine")
    port = f":{parameters['port']}" if parameters.get("port") else ""
    user = f"{parameters['user']}@" if parameters.get("user") else ""
    shown = f"postgresql://{user}{host}{port}/{parameters.get('dbname') or ''}"
    shown += f"?schema={schema}" if schema else ""
    conninfo = make_conninfo("", **{**DEFAULT_PARAMETERS, **parameters, "options": options})
    return DatabaseAddress(conninfo, shown, schema)
