"""Audio types by content. ``data/`` holds half a second of a 440 Hz tone, written by PyAV."""

from __future__ import annotations

import io
import struct
import wave
from pathlib import Path

import pytest
from hookline_hookspecs.speech import KINDS, audio_kind, seconds
from hypothesis import given
from hypothesis import strategies as st

DATA = Path(__file__).parent / "data"
FILES = {"tone.opus": "opus", "tone.mp3": "mp3", "tone.flac": "flac", "tone.m4a": "m4a"}
FILES |= {"tone.mp4": "m4a", "tone.webm": "webm", "tone.aac": "aac"}


def recording(length: float, rate: int = 16_000) -> bytes:
    """A WAV file of silence."""
    made = io.BytesIO()
    with wave.open(made, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(b"\0\0" * int(length * rate))
    return made.getvalue()


@pytest.mark.parametrize(("file", "name"), FILES.items())
def test_audio_kind_of_real_files(file: str, name: str) -> None:
    assert audio_kind((DATA / file).read_bytes()) == KINDS[name]


def test_audio_kind_of_mp3_without_a_tag() -> None:
    data = (DATA / "tone.mp3").read_bytes()
    size = 0
    for byte in data[6:10]:  # ID3v2: seven bits a byte
        size = size << 7 | byte
    assert audio_kind(data[10 + size :]) == KINDS["mp3"]


def test_audio_kind_of_vorbis_in_ogg() -> None:
    page = b"OggS" + bytes(22) + b"\x01\x1e" + b"\x01vorbis" + bytes(30)
    assert audio_kind(page) == KINDS["ogg"]


NONE = {
    "empty": b"",
    "short": b"\xff",
    "png": b"\x89PNG\r\n\x1a\n" + bytes(60),
    "jpeg": b"\xff\xd8\xff\xe0" + bytes(60),
    "webp": b"RIFF\x10\0\0\0WEBPVP8 " + bytes(60),
    "heic": b"\0\0\0\x18ftypheic" + bytes(60),
    "quicktime": b"\0\0\0\x14ftypqt  " + bytes(60),
    "ogg video": b"OggS" + bytes(24) + b"\x80theora" + bytes(60),
    "matroska": b"\x1a\x45\xdf\xa3\x93\x42\x82\x88matroska" + bytes(60),
    "utf-16": b"\xff\xfeh\0i\0",
    "all ones": b"\xff" * 64,
    "html": b"<html><body>no sound</body></html>",
    "program": b"MZ" + bytes(60),
    "name alone": b"voice.ogg",
}


@pytest.mark.parametrize("data", NONE.values(), ids=NONE)
def test_audio_kind_of_other_data_is_none(data: bytes) -> None:
    assert audio_kind(data) is None


@pytest.mark.parametrize("length", [0.0, 0.25, 3.0])
def test_length_of_wav(length: float) -> None:
    assert seconds(recording(length)) == pytest.approx(length)


def test_length_of_wav_without_a_size() -> None:
    data = bytearray(recording(0.5))
    struct.pack_into("<I", data, data.find(b"data") + 4, 0xFFFFFFFF)
    assert seconds(bytes(data)) == pytest.approx(0.5)


def test_length_of_opus() -> None:
    assert seconds((DATA / "tone.opus").read_bytes()) == pytest.approx(0.5)


def test_length_of_mp3_is_unknown() -> None:
    assert seconds((DATA / "tone.mp3").read_bytes()) == 0


HEADS = [data[:80] for data in (recording(0.1), *((DATA / file).read_bytes() for file in FILES))]


@pytest.mark.slow
@given(head=st.sampled_from(HEADS), tail=st.binary(max_size=80), cut=st.integers(0, 80))
def test_length_of_broken_files_is_never_an_error(head: bytes, tail: bytes, cut: int) -> None:
    assert seconds(head[:cut] + tail) >= 0
