"""Hookline plugin ``web``: the tools ``web_fetch`` and ``web_search``.

Reached by the entry point ``hookline_web:Web``; it implements ``register_tools`` and
``register_checks``.
"""

from .config import WebConfig
from .plugin import Web

__all__ = ["Web", "WebConfig"]
