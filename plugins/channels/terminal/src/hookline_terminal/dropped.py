"""Files that were dragged into the window: terminals paste their paths."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from urllib.parse import unquote, urlsplit

from hookline_hookspecs import Attachment, Paths

LARGEST = 20_000_000
"""Bytes of a picture; more than the providers take."""
MOST = 20
"""Files of one drag."""
_TYPES = {
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


def dragged(text: str) -> list[Path]:
    """The files that a paste consists of, or none: absolute paths or ``file://`` addresses, quoted
    or with backslashes, that exist."""
    stripped = text.strip()
    if not stripped or len(stripped) > 20_000 or stripped.count("\n") > MOST:
        return []
    whole = _path(stripped)
    if whole is not None:
        return [whole]
    try:
        words = shlex.split(stripped)
    except ValueError:
        return []
    if not 0 < len(words) <= MOST:
        return []
    found = [_path(word) for word in words]
    return [path for path in found if path is not None] if all(found) else []


def _path(word: str) -> Path | None:
    if word.startswith("file://"):
        parts = urlsplit(word)
        if parts.netloc not in ("", "localhost"):
            return None
        word = unquote(parts.path)
    if not word.startswith(("/", "~/")) or "\0" in word or "\n" in word:
        return None
    path = Path(os.path.expanduser(word))  # noqa: PTH111 - raises nothing
    try:
        return path if path.exists() and path != Path("/") else None
    except OSError:
        return None


def reference(path: Path, paths: Paths) -> str | None:
    """``@path`` for what is in the workspace and may be read, else None."""
    try:
        real = paths.resolve(str(path))
        inside = real.relative_to(Path(paths.workspace).resolve())
    except (OSError, ValueError):
        return None
    name = inside.as_posix() + ("/" if real.is_dir() else "")
    return f'@"{name}"' if re.search(r"\s", name) else f"@{name}"


def picture(path: Path) -> Attachment | None:
    """The picture at ``path``, known by its content; None if models take no such file."""
    try:
        if not path.is_file():
            return None
        with path.open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            mime = mime_type(stream.read(16))
    except OSError:
        return None
    if mime is None or size > LARGEST:
        return None
    return Attachment(path.resolve(), mime, path.name, size)


def mime_type(head: bytes) -> str | None:
    """The type of a picture by its first 16 bytes; None if models take no such."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((mime for start, mime in _TYPES.items() if head.startswith(start)), None)
