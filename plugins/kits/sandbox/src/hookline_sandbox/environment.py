"""Makes the environment of programs that are started for a model, from ``environment.yaml``.

The file lists the variables to pass. A list of those to remove would miss the next
``DATABASE_URL``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from hookline_hookspecs.secrets import redacted

from .tables import tables

SHORTEST_SECRET = 8
"""Minimum characters of a secret whose value is searched for in other variables. Shorter ones
(``1``, ``true``) would match everywhere."""
_SECRET_NAME = re.compile(
    r"KEY|TOKEN|SECRET|PASS(?:W|PHRASE|\Z|_)|PWD\Z|CREDENTIAL|COOKIE|AUTH|_PAT\Z|WEBHOOK|_DSN\Z",
    re.IGNORECASE,
)
_LOGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s@]+@", re.IGNORECASE)


@cache
def _allowed() -> re.Pattern[str]:
    lists = tables("environment.yaml").values()
    names = [re.escape(name).replace(r"\*", ".*") for found in lists for name in found]
    return re.compile("|".join(names))


def secrets_in(environment: Mapping[str, str]) -> set[str]:
    """Return the values of variables with names of secrets.

    Short values are left out, and paths that exist (``TOKEN_DIR=/usr/bin``): they name the place of
    a secret, and variables such as ``PATH`` may contain the same folder.
    """
    return {
        value
        for name, value in environment.items()
        if len(value) >= SHORTEST_SECRET
        and _SECRET_NAME.search(name)
        and not _allowed().fullmatch(name)
        and not _is_path(value)
    }


def _is_path(value: str) -> bool:
    try:
        return value.startswith("/") and Path(value).exists()
    except (OSError, ValueError):
        return False


def allowed(
    environment: Mapping[str, str], allow: Iterable[str] = (), secrets: Iterable[str] = ()
) -> dict[str, str]:
    """Return the part of ``environment`` for a program that is started for a model.

    It has the variables of ``environment.yaml``, without those whose value contains a login, one of
    ``secrets`` (values) or the value of a variable that is secret by its name; and the variables in
    ``allow``, unchanged. ``PATH`` is always passed: without it no program is found.
    """
    named = {"PATH", *allow}
    hidden = {value for value in secrets if len(value) >= SHORTEST_SECRET}
    hidden |= secrets_in({n: v for n, v in environment.items() if n not in named})
    return {
        name: value
        for name, value in environment.items()
        if name in named or (_allowed().fullmatch(name) and not _holds(value, hidden))
    }


def without_secrets(
    environment: Mapping[str, str], allow: Iterable[str] = (), secrets: Iterable[str] = ()
) -> dict[str, str]:
    """Return ``environment`` for a program that a person lets run with their rights.

    All variables are passed, such as the socket of an agent for keys, except those that are secret
    by their name, and those whose value contains a login or a known secret; and the variables in
    ``allow``, unchanged.
    """
    named = {"PATH", *allow}
    rest = {name: value for name, value in environment.items() if name not in named}
    hidden = {value for value in secrets if len(value) >= SHORTEST_SECRET} | secrets_in(rest)
    return {
        name: value
        for name, value in environment.items()
        if name in named
        or not (_is_secret(name, value) or _holds(value, hidden) or redacted(value) != value)
    }


def _is_secret(name: str, value: str) -> bool:
    """True for a variable that is named as a secret and does not name a path."""
    named = _SECRET_NAME.search(name) and not _allowed().fullmatch(name)
    return bool(named) and not _is_path(value)


def _holds(value: str, secrets: set[str]) -> bool:
    return bool(_LOGIN.search(value)) or any(secret in value for secret in secrets)
