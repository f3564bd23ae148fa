"""What keeps a warm turn cheap: nothing is read that has not changed, and small writes wait.

:class:`FileCache` keeps what was made of files while a :class:`Watch` finds them as they were,
:class:`RowCache` keeps what was read from the plugin's tables while nobody writes them, and
:class:`LaterWrites` hands writes that can wait to the storage together.
"""

from __future__ import annotations

from .deferred_writes import LaterWrites
from .files import FileCache, Watch
from .rows import RowCache, changes

__all__ = ["FileCache", "LaterWrites", "RowCache", "Watch", "changes"]
