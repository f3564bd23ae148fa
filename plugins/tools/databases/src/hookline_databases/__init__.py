"""Hookline plugin ``databases``: reads databases, and writes to them with a person's word.

Reached by the entry point ``hookline_databases:Databases``. :mod:`.guard` judges a statement as
text, :mod:`.engines` run it where the engine itself only reads, :mod:`.results` shows the rows.
"""

from .config import DatabasesConfig
from .plugin import Databases

__all__ = ["Databases", "DatabasesConfig"]
