"""Hookline plugin ``databases``: reads databases, and writes to them with approval.

Reached by the entry point ``hookline_databases:Databases``. :mod:`.query_guard` and
:mod:`.write_guard` check a statement's text, :mod:`.engines` run it in a session that only reads,
:mod:`.results` formats the rows.
"""

from .config import DatabasesConfig
from .plugin import Databases

__all__ = ["Databases", "DatabasesConfig"]
