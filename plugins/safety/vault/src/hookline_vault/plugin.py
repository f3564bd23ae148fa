"""The plugin: commands, the service ``Vault``, and the hooks that keep used values out of sight."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hookline_hookspecs import Context, Host, Plugin, ToolResult, Turn, hookimpl

from .config import VaultConfig

if TYPE_CHECKING:
    from .hosts import HostHeaders
    from .secrets import Secrets


class VaultPlugin(Plugin[VaultConfig]):
    """Keeps credentials, and gives them to plugins that name them."""

    _secrets: Secrets | None = None
    _headers: HostHeaders | None = None

    @hookimpl
    def setup(self, host: Host) -> None:
        """Offer the service."""
        from hookline_hookspecs.vault import Vault

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
        from hookline_hookspecs.audit import note

        note(self.host, "vault", name, verdict)

    @hookimpl
    async def start_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Have ``host.http`` send what goes to hosts; it is not made before anything does."""
        if self._headers is None:
            from .hosts import HostHeaders

            self._headers = HostHeaders(self.host, self.secrets)
        if await self._headers.any():
            self.host.http.credentials = self._headers.headers  # type: ignore[attr-defined]

    @hookimpl(tryfirst=True)
    def post_tool(self, ctx: Context, result: ToolResult) -> ToolResult | None:
        """Replace values that were used in a result, before anybody keeps it."""
        from hookline_hookspecs.secrets import redacted

        text = redacted(result.text)
        notes = tuple(redacted(note) for note in result.notes)
        if text == result.text and notes == tuple(result.notes):
            return None
        return replace(result, text=text, notes=notes, data=None)
