"""Hookline plugin ``prompt-cache``: sets a provider's cache breakpoints and reports what they save.

Reached by the entry point ``hookline_prompt_cache:PromptCache``; it implements ``pre_send`` (the
plan), ``around_model`` (what each request cost), ``start_of_turn`` and ``end_of_turn`` (the
pauses between turns).
"""

from .config import PromptCacheConfig
from .plugin import PromptCache

__all__ = ["PromptCache", "PromptCacheConfig"]
