"""Hookline plugin ``voice``: voice messages become ordinary ones, and can be answered with voice.

Reached by the entry point ``hookline_voice:Voice``; it implements ``on_voice``, ``pre_reply``,
``register_checks`` and ``register_jobs``. Who hears and speaks is a plugin that offers
``Transcriber`` and ``Speaker`` of ``hookline_hookspecs.speech``, such as ``multimedia``.
"""

from .config import VoiceConfig
from .plugin import Voice

__all__ = ["Voice", "VoiceConfig"]
