"""A PostgreSQL server for tests: see `server`, and `plugin` for pytest's fixtures."""

from .server import Server, programs

__all__ = ["Server", "programs"]
