"""A value that does not get out by accident."""

from __future__ import annotations

from typing import Any, NoReturn

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
