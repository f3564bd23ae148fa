"""What plugins for speech share: who hears and speaks, audio types by content, kept files.

A library without a plugin. :mod:`.protocols` is what one plugin offers to another through
``host.services``, :mod:`.kinds` tells what audio bytes are, :mod:`.keeping` saves media files.
"""

from .audio_kinds import KINDS, AudioKind, audio_kind, seconds
from .media_files import is_kept, keep, media_folder, open_kept, prune
from .protocols import ReadAloud, Speaker, Spoken, Transcriber

__all__ = [
    "KINDS",
    "AudioKind",
    "ReadAloud",
    "Speaker",
    "Spoken",
    "Transcriber",
    "audio_kind",
    "is_kept",
    "keep",
    "media_folder",
    "open_kept",
    "prune",
    "seconds",
]
