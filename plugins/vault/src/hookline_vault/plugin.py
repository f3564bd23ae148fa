"""The plugin: commands, the service ``Vault``, and the hooks that keep used values out of sight."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline_hookspecs import Host, Plugin, hookimpl

from .config import VaultConfig

if TYPE_CHECKING:
    from hookline_hookspecs.hooks.boot import RegisterCli

    from .secrets import Secrets


class VaultPlugin(Plugin[VaultConfig]):
    """Keeps credentials, and gives them to plugins that name them."""

    _secrets: Secrets | None = None

    @hookimpl
    def setup(self, host: Host) -> None:
        """Offer the service."""
        from hookline_vaultkit import Vault

        host.services.provide(Vault, self.secrets)

    @property
    def secrets(self) -> Secrets:
        """The secrets of this home."""
        if self._secrets is None:
            from .keys import Keys, Place
            from .secrets import Secrets

            keys = Keys(Place(self.host.home, self.host.env, self.config))
            self._secrets = Secrets(self.host.storage, keys, self.host.now, self._tell)
        return self._secrets

    def _tell(self, name: str, verdict: str) -> None:
        from hookline_auditkit import note

        note(self.host, "vault", name, verdict)

    @hookimpl
    def register_cli(self, register: RegisterCli) -> None:
        """``hookline vault …``."""
        from .commands import Commands

        Commands(lambda: self.secrets).register(register)
