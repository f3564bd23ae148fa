"""Hookline plugin ``voice``: turns voice messages into text, and answers to them into voice.

Reached by the entry point ``hookline_voice:Voice``. :mod:`.voice_messages` transcribes a message
from any channel (hook ``on_voice``), :mod:`.text_to_voice` records the answer (hook ``pre_reply``).
Both use the services ``Transcriber`` and ``Speaker`` of ``hookline_hookspecs.speech``, which
another plugin provides, such as ``multimedia``.
"""

from .config import VoiceConfig
from .plugin import Voice

__all__ = ["Voice", "VoiceConfig"]
