"""The vault: the service that stores credentials, its secrets, and ``vault:NAME`` in config.

A plugin whose key is a ``SecretStr`` in its settings does not need this: if config.yaml says
``vault:NAME``, its settings contain the value. :class:`Vault` is the service for plugins that name
a secret at run time, or store one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn, Protocol
from urllib.parse import unquote, urlsplit

DOTS = "•••"
"""What is shown instead of a secret."""


class Secret:
    """A secret of the vault, shown as ``•••``; :meth:`get_secret_value` returns its value.

    It cannot be formatted, pickled or encoded as JSON; copying it returns the same object.
    """

    __slots__ = ("__value", "name")

    name: str
    """Its name in the vault."""

    def __init__(self, name: str, value: str) -> None:
        self.name = name
        self.__value = value

    def get_secret_value(self) -> str:
        """Return the value. Do not keep it longer than the call that needs it."""
        return self.__value

    def __repr__(self) -> str:
        return DOTS

    __str__ = __repr__

    def __format__(self, _spec: str) -> NoReturn:
        raise TypeError(f"the secret {self.name} cannot be formatted; use get_secret_value()")

    def __reduce_ex__(self, _protocol: Any) -> NoReturn:
        raise TypeError(f"the secret {self.name} cannot be pickled")

    def __getstate__(self) -> NoReturn:
        raise TypeError(f"the secret {self.name} cannot be pickled")

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, _memo: Any) -> Secret:
        return self


class Vault(Protocol):
    """Stores encrypted credentials under names such as ``db/prod``."""

    async def use(self, name: str) -> Secret:
        """Return the current secret ``name``.

        From then on, its value is masked in tool results, errors and logs. Raises ``Refused`` with
        a sentence if there is none, or if the vault cannot be opened.
        """

    async def put(self, name: str, value: str) -> None:
        """Store ``value`` under ``name``, replacing an earlier value. Raises ``Refused``."""

    async def remove(self, name: str) -> bool:
        """Remove the secret ``name``; return False if there was none."""

    async def names(self) -> list[str]:
        """Return the names of all secrets, sorted."""


_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,126}[A-Za-z0-9])?", re.ASCII)
_PREFIX = "vault:"


def valid_name(name: str) -> bool:
    """Return True if ``name`` is valid: 1 to 128 letters, digits, ``.``, ``_``, ``-`` and ``/``,
    with a letter or digit at both ends."""
    return _NAME.fullmatch(name) is not None


def name_in(value: object) -> str | None:
    """The name in a text that is exactly ``vault:NAME``; None for anything else."""
    if not isinstance(value, str) or not value.startswith(_PREFIX):
        return None
    name = value.removeprefix(_PREFIX)
    return name if valid_name(name) else None


def names_in(value: object) -> Iterator[str]:
    """The names that settings reference, at any depth."""
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from names_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from names_in(inner)
    elif (name := name_in(value)) is not None:
        yield name


def passwords_in(value: str) -> list[str]:
    """The password in a URL, as written and percent-decoded; empty if there is none."""
    try:
        found = urlsplit(value).password if "://" in value else None
    except ValueError:
        found = None
    return [found, unquote(found)] if found else []
