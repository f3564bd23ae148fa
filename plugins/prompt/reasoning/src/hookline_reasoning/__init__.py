"""Hookline plugin ``reasoning``: how much a chat's model thinks before it answers.

Reached by the entry point ``hookline_reasoning:Reasoning``. :mod:`.styles` knows the models.
"""

from .plugin import Reasoning, ReasoningConfig

__all__ = ["Reasoning", "ReasoningConfig"]
