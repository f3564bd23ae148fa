"""Hookline plugin ``session-search``: full-text search over earlier conversations.

Reached by the entry point ``hookline_session_search:SessionSearch``; it brings the tool
``session_search`` and implements ``end_of_turn`` and ``register_jobs``.
"""

from .plugin import SessionSearch

__all__ = ["SessionSearch"]
