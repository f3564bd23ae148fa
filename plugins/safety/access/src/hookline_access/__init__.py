"""Hookline plugin ``access``: who may write on a network channel, and who answers an approval.

The entry point is ``hookline_access:AccessControl``. :mod:`.people` holds people and their roles,
:mod:`.pairing` the pairing requests, :mod:`.claims` the codes that make the first admin,
:mod:`.chats` which chats are private, and :mod:`.questions` the questions to admins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .config import AccessConfig
    from .plugin import AccessControl

__all__ = ["AccessConfig", "AccessControl"]


def __getattr__(name: str) -> Any:
    """Import the plugin on first use: most commands of the program only need :mod:`.os_users`."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import config, plugin

    return getattr(plugin if name == "AccessControl" else config, name)
