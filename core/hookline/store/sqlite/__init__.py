"""The default store: one SQLite file in the home. See `SqliteStore`."""

from .store import SqliteStore

__all__ = ["SqliteStore"]
