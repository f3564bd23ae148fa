"""Hookline plugin ``multimedia``: pictures and sound through OpenAI-compatible services.

Reached by the entry point ``hookline_multimedia:Multimedia``. It brings the tools
``generate_image``, ``describe_image``, ``text_to_speech`` and ``transcribe_audio``, and offers the
services ``Transcriber`` and ``Speaker`` of ``hookline_hookspecs.speech`` to other plugins.
"""

from .config import MultimediaConfig
from .plugin import Multimedia

__all__ = ["Multimedia", "MultimediaConfig"]
