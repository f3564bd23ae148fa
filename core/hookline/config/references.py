"""Resolves ``vault:NAME`` in config.yaml once the vault is open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hookline_hookspecs.secrets import ProcessFilter
from hookline_hookspecs.vault import name_in, passwords_in


class References:
    """The values of a config's vault references.

    Until :meth:`fill` is called, references are left as they are, so that a config can be checked
    and shown without opening the vault.
    """

    def __init__(self) -> None:
        self._values: dict[str, str] | None = None
        self._faults: Mapping[str, str] = {}
        self._filter = ProcessFilter()

    def fill(self, values: Mapping[str, str], faults: Mapping[str, str]) -> None:
        """Set the ``values`` by name, and ``faults``: sentences about names without a value."""
        self._filter.hide(
            [secret for value in values.values() for secret in (value, *passwords_in(value))]
        )
        self._values, self._faults = dict(values), dict(faults)

    def fault(self, value: object) -> str | None:
        """A sentence that says why a reference has no value; None if it has one."""
        name = name_in(value)
        if name is None or self._values is None or name in self._values:
            return None
        return self._faults.get(name) or f"the vault has no secret named {name}."

    def value(self, value: Any) -> Any:
        """The referenced secret; ``value`` itself if it is not a reference or is not resolved."""
        name = name_in(value)
        return value if name is None else (self._values or {}).get(name, value)
