"""What speech plugins share: services, audio types, media files.

:mod:`.protocols` has the services that plugins provide for each other, :mod:`.audio_kinds` detects
the type of audio data, and :mod:`.media_files` stores media files.
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
