"""Hookline plugin ``titles``: gives a session a title after the person's second message."""

from .plugin import Titles

__all__ = ["Titles"]
