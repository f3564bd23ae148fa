"""The service that the plugin ``vault`` offers: ``host.services[Vault]``."""

from __future__ import annotations

from typing import Protocol

from .secret import Secret


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
