"""Hookline plugin ``permissions``: how freely a session may act.

Reached by the entry point ``hookline_permissions:Permissions``. :mod:`.plugin`
enforces the modes, :mod:`.mode_records` stores them, :mod:`.mode_switch` says who may switch,
:mod:`.preview` shows what a call would do, :mod:`.plan_mode` holds the texts of plan mode.
"""

from .config import PermissionsConfig
from .plugin import Permissions

__all__ = ["Permissions", "PermissionsConfig"]
