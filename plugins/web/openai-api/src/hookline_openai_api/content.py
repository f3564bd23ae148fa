"""Parts of a message: text, and pictures and files, which become attachments."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn
from urllib.parse import unquote_to_bytes

from .errors import bad

MOST_FILES = 20
"""Files of one message."""
TEXTS = frozenset({"text", "input_text", "output_text", "refusal"})
_DATA = re.compile(r"data:([\w.+-]+/[\w.+-]+)?((?:;[\w-]+=[^;,]*)*)(;base64)?,", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FilePart:
    """A file of a message: its bytes, or the URL that it is at."""

    name: str
    data: bytes = b""
    url: str = ""


@dataclass(frozen=True, slots=True)
class Content:
    """What a message consists of."""

    text: str
    files: tuple[FilePart, ...] = ()


def read_content(value: Any, where: str) -> Content:
    """Return a message's content, a string or a list of parts. Raises ``ApiError`` (400)."""
    if value is None:
        return Content("")
    if isinstance(value, str):
        return Content(value)
    if not isinstance(value, list):
        raise bad(f"{where} must be a string or a list of parts.", where, "invalid_type")
    texts: list[str] = []
    files: list[FilePart] = []
    for number, part in enumerate(value):
        _read_part(part, f"{where}[{number}]", texts, files)
    if len(files) > MOST_FILES:
        raise bad(f"{where} has {len(files)} files; {MOST_FILES} are taken.", where)
    return Content("\n\n".join(texts), tuple(files))


def _read_part(part: Any, where: str, texts: list[str], files: list[FilePart]) -> None:
    if isinstance(part, str):
        texts.append(part)
        return
    if not isinstance(part, dict):
        raise bad(f"{where} must be an object with a type.", where, "invalid_type")
    kind = part.get("type")
    if kind in TEXTS:
        text = part.get("text") if kind != "refusal" else part.get("refusal")
        if not isinstance(text, str):
            raise bad(f"{where}.text must be a string.", f"{where}.text", "invalid_type")
        texts.append(text)
    elif kind in ("image_url", "input_image"):
        files.append(_image(part, where))
    elif kind in ("file", "input_file"):
        files.append(_file(part, where))
    elif kind == "input_audio":
        files.append(_audio(part, where))
    else:
        known = "text, image_url, file and input_audio"
        raise bad(f"{where}.type {str(kind)[:40]!r} is not known; there are {known}.", where)


def _image(part: Mapping[str, Any], where: str) -> FilePart:
    value = part.get("image_url")
    url = value.get("url") if isinstance(value, dict) else value
    if not isinstance(url, str):
        _no_file_ids(part, where)
        raise bad(f"{where}.image_url must be a URL.", f"{where}.image_url", "invalid_type")
    return _from_url(url, "image", f"{where}.image_url")


def _file(part: Mapping[str, Any], where: str) -> FilePart:
    value = part.get("file") if part.get("type") == "file" else part
    if not isinstance(value, dict):
        raise bad(f"{where}.file must be an object.", f"{where}.file", "invalid_type")
    name = value.get("filename")
    shown = name if isinstance(name, str) and name else "file"
    data, url = value.get("file_data"), value.get("file_url")
    if isinstance(data, str):
        if data[:5].lower() == "data:":
            return _from_url(data, shown, f"{where}.file_data")
        return FilePart(shown, _decoded(data, f"{where}.file_data"))
    if isinstance(url, str):
        return _from_url(url, shown, f"{where}.file_url")
    _no_file_ids(value, where)
    raise bad(f"{where} needs file_data, a data: URL or base64.", where)


def _audio(part: Mapping[str, Any], where: str) -> FilePart:
    value = part.get("input_audio")
    data = value.get("data") if isinstance(value, dict) else None
    if not isinstance(data, str):
        raise bad(f"{where}.input_audio.data must be base64.", where, "invalid_type")
    kind = value.get("format") if isinstance(value, dict) else None
    suffix = kind if isinstance(kind, str) and kind.isalnum() else "wav"
    return FilePart(f"audio.{suffix[:5]}", _decoded(data, f"{where}.input_audio.data"))


def _no_file_ids(part: Mapping[str, Any], where: str) -> None:
    if part.get("file_id") is not None:
        raise bad(
            f"{where}.file_id: there is no files API here; send the file's content in the request.",
            f"{where}.file_id",
        )


def _from_url(url: str, name: str, where: str) -> FilePart:
    if url[:5].lower() == "data:":
        found = _DATA.match(url)
        if found is None:
            raise bad(f"{where} is no data: URL that can be read.", where)
        suffix = (found[1] or "").rpartition("/")[2].partition("+")[0]
        shown = name if "." in name or not suffix.isalnum() else f"{name}.{suffix}"
        rest = url[found.end() :]
        return FilePart(shown, _decoded(rest, where) if found[3] else unquote_to_bytes(rest))
    if url[:7].lower() == "http://" or url[:8].lower() == "https://":
        return FilePart(name, url=url)
    raise bad(f"{where} must be a data: URL or begin with https:// or http://.", where)


def _decoded(text: str, where: str) -> bytes:
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        _refuse_base64(where)


def _refuse_base64(where: str) -> NoReturn:
    raise bad(f"{where} is not base64.", where)


def joined(texts: Sequence[str]) -> str:
    """Return texts as one, those that are blank left out."""
    return "\n\n".join(text for text in texts if text.strip())
