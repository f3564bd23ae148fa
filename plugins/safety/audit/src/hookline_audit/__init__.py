"""Hookline plugin ``audit``: a tamper-evident record of who did what.

The entry point is ``hookline_audit:AuditPlugin``. :mod:`.plugin` makes the rows, :mod:`.recorder`
writes them to the store, :mod:`.sealer` adds them to the hash chain, :mod:`.verification` finds
changed rows, :mod:`.keys` holds the keys, and :mod:`.cli` is ``hookline audit``.
"""

from .config import AuditConfig
from .plugin import AuditPlugin

__all__ = ["AuditConfig", "AuditPlugin"]
