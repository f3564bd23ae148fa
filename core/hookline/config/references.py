"""What ``vault:NAME`` in config.yaml stands for, once the vault is open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hookline_hookspecs.secrets import ProcessFilter
from hookline_hookspecs.vault import name_in, passwords_in


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
        """What ``value`` stands for; ``value`` itself if it is not a reference or has no value."""
        name = name_in(value)
        return value if name is None else (self._values or {}).get(name, value)
