"""``vault:NAME`` in config.yaml, and what stands for it once the vault is open."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from hookline_secretfilter import ProcessFilter

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,126}[A-Za-z0-9])?", re.ASCII)
_PREFIX = "vault:"


def valid_name(name: str) -> bool:
    """Whether the vault takes ``name``: 1 to 128 letters, digits, ``.``, ``_``, ``-`` and ``/``,
    a letter or digit at both ends."""
    return _NAME.fullmatch(name) is not None


def name_in(value: object) -> str | None:
    """The name in ``vault:NAME``, which is all of a text; None for anything else."""
    if not isinstance(value, str) or not value.startswith(_PREFIX):
        return None
    name = value.removeprefix(_PREFIX)
    return name if valid_name(name) else None


def names_in(value: object) -> Iterator[str]:
    """The names that settings refer to, at any depth."""
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from names_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from names_in(inner)
    elif (name := name_in(value)) is not None:
        yield name


def passwords_in(value: str) -> list[str]:
    """The password in a value that is a URL, as it is written and as it is meant; else nothing."""
    try:
        found = urlsplit(value).password if "://" in value else None
    except ValueError:
        found = None
    return [found, unquote(found)] if found else []


class References:
    """The values of a config's references.

    Until :meth:`fill` is called, the vault is closed and every reference stands for itself, so
    that a config can be checked and shown without one.
    """

    def __init__(self) -> None:
        self._values: dict[str, str] | None = None
        self._faults: Mapping[str, str] = {}
        self._filter = ProcessFilter()

    def fill(self, values: Mapping[str, str], faults: Mapping[str, str]) -> None:
        """Let names stand for ``values``; ``faults`` are sentences about those that have none."""
        self._filter.hide(
            [one for value in values.values() for one in (value, *passwords_in(value))]
        )
        self._values, self._faults = dict(values), dict(faults)

    def fault(self, value: object) -> str | None:
        """Why a reference has no value, as a sentence, or None."""
        name = name_in(value)
        if name is None or self._values is None or name in self._values:
            return None
        return self._faults.get(name) or f"nothing in the vault is named {name}."

    def value(self, value: Any) -> Any:
        """What ``value`` stands for; itself if it is no reference, or has no value."""
        name = name_in(value)
        return value if name is None else (self._values or {}).get(name, value)
