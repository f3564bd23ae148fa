"""Hookline plugin ``audit``: who did what, in rows that nobody can change unseen.

Reached by the entry point ``hookline_audit:AuditPlugin``. :mod:`.plugin` hears of what is done,
:mod:`.recorder` hands rows to the store, :mod:`.sealer` chains them, :mod:`.chain` finds what was
changed, :mod:`.keys` holds the keys, and :mod:`.cli` is ``hookline audit``.
"""

from .config import AuditConfig
from .plugin import AuditPlugin

__all__ = ["AuditConfig", "AuditPlugin"]
