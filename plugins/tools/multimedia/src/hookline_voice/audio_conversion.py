"""Converts recordings into another format by PyAV, if the extra ``convert`` is installed."""

from __future__ import annotations

import io
import logging
from itertools import chain
from typing import Any

from hookline_hookspecs.speech import KINDS, Spoken

log = logging.getLogger("hookline.plugin.voice")

ENCODERS = {
    "opus": ("ogg", "libopus", 48_000),
    "mp3": ("mp3", "libmp3lame", 44_100),
    "flac": ("flac", "flac", 48_000),
    "wav": ("wav", "pcm_s16le", 48_000),
}
"""By format: FFmpeg's container and encoder, and samples per second."""
BIT_RATE = 32_000
"""Bits per second of speech in lossy formats."""


def convert(spoken: Spoken, name: str) -> Spoken:
    """``spoken`` in the format ``name``; unchanged if it cannot be converted."""
    if spoken.kind.name == name:
        return spoken
    try:
        import av
    except ImportError:
        log.info(
            "install hookline-multimedia[convert] to convert %s into %s", spoken.kind.name, name
        )
        return spoken
    try:
        data = _encode(av, spoken.data, name)
    except (av.FFmpegError, ValueError) as error:
        log.warning("a recording could not be converted into %s: %s", name, error)
        return spoken
    return Spoken(data, KINDS[name])


def _encode(av: Any, data: bytes, name: str) -> bytes:
    container, codec, rate = ENCODERS[name]
    output = io.BytesIO()
    with av.open(io.BytesIO(data)) as source, av.open(output, "w", format=container) as target:
        stream = target.add_stream(codec, rate=rate)
        stream.layout = "mono"
        stream.bit_rate = BIT_RATE
        stream.codec_context.open()
        resampler = av.AudioResampler(
            stream.codec_context.format, "mono", rate, stream.codec_context.frame_size or None
        )
        for frame in chain(source.decode(audio=0), [None]):
            for piece in resampler.resample(frame):
                target.mux(stream.encode(piece))
        target.mux(stream.encode(None))
    return output.getvalue()
