"""Hookline plugin ``gateway``: ``hookline gateway`` runs every network channel until a signal.

Reached by the entry point ``hookline_gateway:Gateway``. :mod:`.serve` is the command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline_hookspecs import Plugin, hookimpl
from pydantic import BaseModel, Field

if TYPE_CHECKING:
    from hookline_hookspecs.hooks.boot import RegisterCli

__all__ = ["Gateway", "GatewayConfig"]


class GatewayConfig(BaseModel):
    """How the gateway ends."""

    drain: float = Field(
        default=30.0, ge=0, description="Seconds that running turns have to end after a signal."
    )


class Gateway(Plugin[GatewayConfig]):
    """Adds the command."""

    @hookimpl
    def register_cli(self, register: RegisterCli) -> None:
        """``hookline gateway``."""
        help_ = "Run every channel that is on until a signal."
        register("gateway", self.gateway, help=help_)

    async def gateway(self) -> None:
        """Run every channel that is on until SIGTERM or SIGINT."""
        from .serve import serve, until_signal

        await serve(self.host, self.config.drain, until_signal)
