"""Hookline plugin ``gateway``: ``hookline gateway`` runs every network channel until a signal.

Entry point ``hookline_gateway:Gateway``. :mod:`.serve` runs the gateway, :mod:`.channels` starts
and stops its channels, :mod:`.access_check` refuses to start without access control,
:mod:`.shutdown` handles signals, :mod:`.state` and :mod:`.systemd` report its state, and
:mod:`.health` is ``hookline health``. :mod:`.authors` names the author of what the model reads,
and :mod:`.message_changes` handles edits, deletions and reactions.
"""

from .plugin import Gateway, GatewayConfig

__all__ = ["Gateway", "GatewayConfig"]
