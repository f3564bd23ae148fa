"""Detects the type of audio files by their first bytes, never by name.

:func:`audio_kind` returns the type, and :func:`seconds` the duration of a recording.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

HEAD = 64
"""Number of bytes that :func:`audio_kind` examines."""


@dataclass(frozen=True, slots=True)
class AudioKind:
    """A type of audio file; ``name`` is its name in speech services."""

    name: str
    mime: str
    suffix: str


KINDS: dict[str, AudioKind] = {
    kind.name: kind
    for kind in (
        AudioKind("opus", "audio/ogg", ".ogg"),
        AudioKind("ogg", "audio/ogg", ".ogg"),
        AudioKind("mp3", "audio/mpeg", ".mp3"),
        AudioKind("wav", "audio/wav", ".wav"),
        AudioKind("m4a", "audio/mp4", ".m4a"),
        AudioKind("webm", "audio/webm", ".webm"),
        AudioKind("flac", "audio/flac", ".flac"),
        AudioKind("aac", "audio/aac", ".aac"),
    )
}
"""The types by name. ``opus`` is Opus in Ogg, ``ogg`` other audio in Ogg, ``aac`` is ADTS."""

_EBML = b"\x1a\x45\xdf\xa3"
_MP4_BRANDS = frozenset(
    b"M4A M4B M4V isom iso2 iso4 iso5 iso6 mp41 mp42 mp71 dash avc1 3gp4 3gp5 3gp6 MSNV".split()
)
_OGG_SOUNDS = (b"\x01vorbis", b"Speex   ", b"\x7fFLAC")


def audio_kind(head: bytes) -> AudioKind | None:
    """The type of the file that begins with ``head``, or None if it is not a known audio type.

    Signatures: RFC 3533 and 7845 (Ogg, Opus), RFC 9559 (WebM), ISO 14496-12 (``ftyp``),
    ISO 11172-3 and 13818-7 (MPEG audio and ADTS headers).
    """
    head = head[:HEAD]
    if head.startswith(b"OggS"):
        return _ogg(head)
    if head.startswith(b"fLaC"):
        return KINDS["flac"]
    if head[:4] == b"RIFF" and head[8:12] == b"WAVE":
        return KINDS["wav"]
    if head[4:8] == b"ftyp":
        return KINDS["m4a"] if head[8:12].rstrip() in _MP4_BRANDS else None
    if head.startswith(_EBML):
        return KINDS["webm"] if b"webm" in head else None
    if head.startswith(b"ID3"):
        return KINDS["mp3"]
    return _mpeg(head)


def _ogg(head: bytes) -> AudioKind | None:
    if b"OpusHead" in head:
        return KINDS["opus"]
    return KINDS["ogg"] if any(sound in head for sound in _OGG_SOUNDS) else None


def _mpeg(head: bytes) -> AudioKind | None:
    """Check for an MPEG frame header: 11 sync bits, version, layer, and valid rates."""
    if len(head) < 4 or head[0] != 0xFF or head[1] & 0xE0 != 0xE0:
        return None
    version, layer = head[1] >> 3 & 3, head[1] >> 1 & 3
    if head[1] & 0xF6 == 0xF0:
        return KINDS["aac"] if head[2] >> 2 & 15 < 13 else None
    known = version != 1 and layer == 1 and head[2] >> 4 not in (0, 15) and head[2] >> 2 & 3 != 3
    return KINDS["mp3"] if known else None


def seconds(data: bytes) -> float:
    """The duration of a recording, for Opus in Ogg and for WAV; 0 for others and broken files."""
    kind = audio_kind(data)
    if kind is None:
        return 0.0
    if kind.name == "opus":
        return _opus_seconds(data)
    return _wav_seconds(data) if kind.name == "wav" else 0.0


def _opus_seconds(data: bytes) -> float:
    """The last page's position minus the pre-skip, at 48 kHz (RFC 7845, section 4)."""
    last, at = data.rfind(b"OggS"), data.find(b"OpusHead")
    if len(data) < max(last + 14, at + 12):
        return 0.0
    (position,) = struct.unpack_from("<q", data, last + 6)
    (skipped,) = struct.unpack_from("<H", data, at + 10)
    return float(max(0, position - skipped) / 48_000)


def _wav_seconds(data: bytes) -> float:
    """The size of the data chunk divided by bytes per second; an open-ended size is limited."""
    at, rate = 12, 0
    while at + 8 <= len(data):
        name, size = struct.unpack_from("<4sI", data, at)
        if name == b"fmt " and at + 20 <= len(data):
            (rate,) = struct.unpack_from("<I", data, at + 16)
        if name == b"data":
            return min(size, len(data) - at - 8) / rate if rate else 0.0
        at += 8 + size + size % 2
    return 0.0
