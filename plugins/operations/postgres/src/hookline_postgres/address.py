"""The URL in ``store:``: what libpq is given of it, which schema it means, what is shown."""

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
OPTIONS = {
    "application_name": "hookline",
    "connect_timeout": "10",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    # Milliseconds after which what was sent and not confirmed breaks the connection.
    "tcp_user_timeout": "15000",
}
"""libpq's parameters; those in the URL come first."""
SETTINGS = (
    "-c client_min_messages=warning "
    # A process that is stopped in the middle of a transaction holds its locks no longer than this.
    "-c idle_in_transaction_session_timeout=10s"
)


@dataclass(frozen=True, slots=True)
class Address:
    """Where the data is.

    ``conninfo`` is libpq's, password and all, and never shown; ``shown`` is for people. ``schema``
    is empty for the one that the role finds by itself.
    """

    conninfo: str
    shown: str
    schema: str = ""


def address(url: str, home: Path) -> Address:
    """What ``url`` says, for ``home``.

    Its parameter ``schema`` is not libpq's: it names the schema for Hookline's tables, so that
    several homes can share one database; ``per-home`` makes one for each home.

    Raises:
        StoreError: it cannot be read. Neither it nor libpq's words are repeated, which may hold a
            part of a password.
    """
    parts = urlsplit(url)
    given = parse_qsl(parts.query, keep_blank_values=True)
    schema = dict(given).get("schema", "")
    if schema == PER_HOME:
        digest = hashlib.sha256(str(home.resolve()).encode("utf-8", "surrogateescape"))
        schema = f"home_{digest.hexdigest()[:24]}"
    if schema and not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", schema):
        raise StoreError(
            f"The schema {schema!r} in `store:` is no name; use small letters, digits and _."
        )
    query = urlencode([(name, value) for name, value in given if name != "schema"])
    try:
        wanted = conninfo_to_dict(urlunsplit(parts._replace(query=query)))
        if "@" in f"{wanted.get('host')}{wanted.get('dbname')}":  # what follows one in a password
            raise ValueError
    except (ProgrammingError, ValueError):
        raise StoreError(
            "The address in `store:` cannot be read. It is like "
            "postgresql://USER:PASSWORD@HOST:PORT/DATABASE; in a password, write %40 for @, %3A "
            "for :, %2F for / and %23 for #."
        ) from None
    search = f"-c search_path={schema}" if schema else ""
    options = " ".join(filter(None, (SETTINGS, str(wanted.get("options") or ""), search)))
    place = str(wanted.get("host") or "this machine")
    port = f":{wanted['port']}" if wanted.get("port") else ""
    user = f"{wanted['user']}@" if wanted.get("user") else ""
    shown = f"postgresql://{user}{place}{port}/{wanted.get('dbname') or ''}"
    shown += f"?schema={schema}" if schema else ""
    made = make_conninfo("", **{**OPTIONS, **wanted, "options": options})
    return Address(made, shown, schema)
