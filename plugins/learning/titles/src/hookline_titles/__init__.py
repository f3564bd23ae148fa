"""Hookline plugin ``titles``: names a conversation after the person's second message.

Reached by the entry point ``hookline_titles:Titles``; it implements ``end_of_turn`` and
``end_of_session``.
"""

from .plugin import Titles

__all__ = ["Titles"]
