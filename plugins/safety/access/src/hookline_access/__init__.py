"""Hookline plugin ``access``: who may write on a network channel, and who answers an approval.

Reached by the entry point ``hookline_access:AccessControl``. :mod:`.people` holds who is known,
:mod:`.pairing` pairing codes, :mod:`.claims` the codes that make the first admin, :mod:`.chats`
which chats are private, and :mod:`.asking` what is put to the admins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .config import AccessConfig
    from .plugin import AccessControl

__all__ = ["AccessConfig", "AccessControl"]


def __getattr__(name: str) -> Any:
    """Import the plugin when it is asked for: each command of the program asks only who runs it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import config, plugin

    return getattr(plugin if name == "AccessControl" else config, name)
