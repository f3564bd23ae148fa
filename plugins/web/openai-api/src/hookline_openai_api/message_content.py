"""Reads the parts of a message: text, images, files and audio."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn
from urllib.parse import unquote_to_bytes

from hookline_hookspecs.base64_data import decode_base64

from .errors import ApiError, invalid_request

MAX_FILES = 20
"""Files in one message."""
TEXT_PART_TYPES = frozenset({"text", "input_text", "output_text", "refusal"})
_DATA = re.compile(r"data:([\w.+-]+/[\w.+-]+)?((?:;[\w-]+=[^;,]*)*)(;base64)?,", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FilePart:
    """A file of a message: its bytes or its URL."""

    name: str
    data: bytes = b""
    url: str = ""


@dataclass(frozen=True, slots=True)
class MessageContent:
    """The text and files of a message."""

    text: str
    files: tuple[FilePart, ...] = ()


def read_content(value: Any, where: str, *, is_answer: bool) -> MessageContent:
    """Return a message's content, a string or a list of parts. Raises ``ApiError`` (400).

    ``is_answer`` leaves out what cannot be read: another model wrote it, such as its thinking.
    """
    if is_answer and not isinstance(value, str):
        value = value if isinstance(value, list) else [value]
    if value is None:
        return MessageContent("")
    if isinstance(value, str):
        return MessageContent(value)
    if not isinstance(value, list):
        raise invalid_request(
            f"{where} must be a string or a list of parts.", where, "invalid_type"
        )
    texts: list[str] = []
    files: list[FilePart] = []
    for number, part in enumerate(value):
        try:
            _read_part(part, f"{where}[{number}]", texts, files)
        except ApiError:
            if not is_answer:
                raise
    if len(files) > MAX_FILES:
        raise invalid_request(f"{where} has {len(files)} files; the maximum is {MAX_FILES}.", where)
    return MessageContent("\n\n".join(texts), tuple(files))


def _read_part(part: Any, where: str, texts: list[str], files: list[FilePart]) -> None:
    if isinstance(part, str):
        texts.append(part)
        return
    if not isinstance(part, dict):
        raise invalid_request(f"{where} must be an object with a type.", where, "invalid_type")
    kind = part.get("type")
    if kind in TEXT_PART_TYPES:
        text = part.get("text") if kind != "refusal" else part.get("refusal")
        if not isinstance(text, str):
            raise invalid_request(
                f"{where}.text must be a string.", f"{where}.text", "invalid_type"
            )
        texts.append(text)
    elif kind in ("image_url", "input_image"):
        files.append(_image(part, where))
    elif kind in ("file", "input_file"):
        files.append(_file(part, where))
    elif kind == "input_audio":
        files.append(_audio(part, where))
    else:
        known = "text, image_url, file, input_audio"
        raise invalid_request(
            f"{where}.type: unknown type {str(kind)[:40]!r}. Types: {known}.", where
        )


def _image(part: Mapping[str, Any], where: str) -> FilePart:
    value = part.get("image_url")
    url = value.get("url") if isinstance(value, dict) else value
    if not isinstance(url, str):
        _refuse_file_id(part, where)
        raise invalid_request(
            f"{where}.image_url must be a URL.", f"{where}.image_url", "invalid_type"
        )
    return _from_url(url, "image", f"{where}.image_url")


def _file(part: Mapping[str, Any], where: str) -> FilePart:
    value = part.get("file") if part.get("type") == "file" else part
    if not isinstance(value, dict):
        raise invalid_request(f"{where}.file must be an object.", f"{where}.file", "invalid_type")
    name = value.get("filename")
    shown = name if isinstance(name, str) and name else "file"
    data = value.get("file_data")
    url = value.get("file_url")
    if isinstance(data, str):
        if data[:5].lower() == "data:":
            return _from_url(data, shown, f"{where}.file_data")
        return FilePart(shown, _decode(data, f"{where}.file_data"))
    if isinstance(url, str):
        return _from_url(url, shown, f"{where}.file_url")
    _refuse_file_id(value, where)
    raise invalid_request(f"{where} needs file_data, a data: URL or base64.", where)


def _audio(part: Mapping[str, Any], where: str) -> FilePart:
    value = part.get("input_audio")
    data = value.get("data") if isinstance(value, dict) else None
    if not isinstance(data, str):
        raise invalid_request(f"{where}.input_audio.data must be base64.", where, "invalid_type")
    kind = value.get("format") if isinstance(value, dict) else None
    suffix = kind if isinstance(kind, str) and kind.isalnum() else "wav"
    return FilePart(f"audio.{suffix[:5]}", _decode(data, f"{where}.input_audio.data"))


def _refuse_file_id(part: Mapping[str, Any], where: str) -> None:
    if part.get("file_id") is not None:
        raise invalid_request(
            f"{where}.file_id: the files API is not supported; send the file's content.",
            f"{where}.file_id",
        )


def _from_url(url: str, name: str, where: str) -> FilePart:
    if url[:5].lower() == "data:":
        found = _DATA.match(url)
        if found is None:
            raise invalid_request(f"{where} is not a valid data: URL.", where)
        suffix = (found[1] or "").rpartition("/")[2].partition("+")[0]
        shown = name if "." in name or not suffix.isalnum() else f"{name}.{suffix}"
        rest = url[found.end() :]
        return FilePart(shown, _decode(rest, where) if found[3] else unquote_to_bytes(rest))
    if url[:7].lower() == "http://" or url[:8].lower() == "https://":
        return FilePart(name, url=url)
    raise invalid_request(f"{where} must be a data:, https: or http: URL.", where)


def _decode(text: str, where: str) -> bytes:
    try:
        return decode_base64(text)
    except ValueError:
        _refuse_base64(where)


def _refuse_base64(where: str) -> NoReturn:
    raise invalid_request(f"{where} is not base64.", where)


def join_texts(texts: Sequence[str]) -> str:
    """Join texts, without blank ones."""
    return "\n\n".join(text for text in texts if text.strip())
