"""Hookline plugin ``session-search``: full-text search over earlier conversations."""

from .plugin import SessionSearch

__all__ = ["SessionSearch"]
