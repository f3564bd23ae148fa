"""Hookline plugin ``access``: who may write on a network channel, and who answers an approval.

Reached by the entry point ``hookline_access:AccessControl``. :mod:`.people` holds who is known,
:mod:`.door` pairing codes, :mod:`.claims` the codes that make the first admin, :mod:`.chats` which
chats are private, and :mod:`.asking` what is put to the admins.
"""

from __future__ import annotations

from .config import AccessConfig
from .plugin import AccessControl

__all__ = ["AccessConfig", "AccessControl"]
