"""The vault: the service that keeps credentials, the values it gives, and ``vault:NAME``.

A plugin whose key is a ``SecretStr`` in its settings needs nothing of this: where config.yaml says
``vault:NAME``, its settings hold the value. :class:`Vault` is the service for those that name a
secret at run time, or store one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn, Protocol
from urllib.parse import unquote, urlsplit

DOTS = "•••"
"""What is shown of a secret."""


class Secret:
    """A value of the vault: shown as ``•••``, and given only by :meth:`get_secret_value`.

    It cannot be formatted, pickled or made JSON; copying it gives the same object.
    """

    __slots__ = ("__value", "name")

    name: str
    """Under which the vault keeps it."""

    def __init__(self, name: str, value: str) -> None:
        self.name = name
        self.__value = value

    def get_secret_value(self) -> str:
        """Return the value; do not keep it for longer than the call that needs it."""
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
    """Keeps credentials, encrypted, under names such as ``db/prod``."""

    async def use(self, name: str) -> Secret:
        """Return the secret ``name``, as it is now.

        From then on its value is replaced in tool results, errors and logs. Raises ``Refused``
        with a sentence if there is none, or if the vault cannot be opened.
        """

    async def put(self, name: str, value: str) -> None:
        """Keep ``value`` under ``name``, in place of what was there. Raises ``Refused``."""

    async def remove(self, name: str) -> bool:
        """Remove the secret ``name``; return False if there was none."""

    async def names(self) -> list[str]:
        """Return the names of all secrets, sorted."""


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
