"""Hookline plugin ``review``: learns from conversations in the background.

Reviewers (``register_reviewers``) decide what is learned and when. This plugin counts turns, forks
the session when one of them is due, and restricts the fork to their tools. :mod:`.counts` counts,
:mod:`.due_reviews` stores counts and due reviews, :mod:`.trace` and :mod:`.prompt` make the prompt.
"""

from .plugin import Review, ReviewConfig

__all__ = ["Review", "ReviewConfig"]
