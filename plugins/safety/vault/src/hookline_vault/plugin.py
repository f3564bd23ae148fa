"""The plugin: the service ``Vault``, headers for hosts, and masking of tool results."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hookline_hookspecs import Context, Host, Plugin, ToolResult, Turn, hookimpl
from hookline_hookspecs.secrets import redacted

from .config import VaultConfig

if TYPE_CHECKING:
    from .host_headers import HostHeaders
    from .secret_store import SecretStore


class VaultPlugin(Plugin[VaultConfig]):
    """Stores credentials and gives them to the plugins that refer to them."""

    _secrets: SecretStore | None = None
    _headers: HostHeaders | None = None

    @hookimpl
    def setup(self, host: Host) -> None:
        """Provide the service ``Vault``."""
        from hookline_hookspecs.vault import Vault

        host.services.provide(Vault, self.secrets)

    @property
    def secrets(self) -> SecretStore:
        """The secrets of this home."""
        if self._secrets is None:
            from .keys import KeyChain, KeyContext
            from .secret_store import SecretStore

            keys = KeyChain(KeyContext(self.host.home, self.host.env, self.config))
            self._secrets = SecretStore(self.host.storage, keys, self.host.now, self._audit)
        return self._secrets

    def _audit(self, name: str, verdict: str) -> None:
        from hookline_hookspecs.audit import note

        note(self.host, "vault", name, verdict)

    @hookimpl
    async def start_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Make ``host.http`` add the headers of hosts, if any secret has a host."""
        if self._headers is None:
            from .host_headers import HostHeaders

            self._headers = HostHeaders(self.host, self.secrets)
        if await self._headers.has_hosts():
            self.host.http.credentials = self._headers.headers  # type: ignore[attr-defined]

    @hookimpl(tryfirst=True)
    def post_tool(self, ctx: Context, result: ToolResult) -> ToolResult | None:
        """Mask the values of used secrets in a tool's result, before anything stores them."""
        text = redacted(result.text)
        notes = tuple(redacted(note) for note in result.notes)
        if text == result.text and notes == tuple(result.notes):
            return None
        return replace(result, text=text, notes=notes, data=None)
