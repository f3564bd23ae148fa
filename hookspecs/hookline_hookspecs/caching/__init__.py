"""Keeps turns cheap: caches what has not changed, and combines small writes.

:class:`FileCache` caches values computed from files until a :class:`Watch` finds a change.
:class:`RowCache` caches rows of the plugin's tables until they are written.
:class:`LaterWrites` combines writes that can wait.
"""

from __future__ import annotations

from .deferred_writes import LaterWrites
from .files import FileCache, Watch
from .rows import RowCache, changes

__all__ = ["FileCache", "LaterWrites", "RowCache", "Watch", "changes"]
