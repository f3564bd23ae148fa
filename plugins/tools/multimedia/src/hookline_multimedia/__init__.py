"""Hookline plugin ``multimedia``: pictures and sound through OpenAI-compatible services.

Reached by the entry point ``hookline_multimedia:Multimedia``. It registers the tools
``generate_image``, ``describe_image``, ``text_to_speech`` and ``transcribe_audio``, and provides
the services ``Transcriber`` (:mod:`.transcription`) and ``Speaker`` (:mod:`.speech_synthesis`) of
``hookline_hookspecs.speech``, which the plugin ``voice`` uses for voice messages.
"""

from .config import MultimediaConfig
from .plugin import Multimedia

__all__ = ["Multimedia", "MultimediaConfig"]
