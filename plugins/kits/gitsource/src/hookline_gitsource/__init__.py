"""Fetches one commit of a public git repository; nothing in it is run."""

from .fetching import fetch_repository

__all__ = ["fetch_repository"]
