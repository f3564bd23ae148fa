"""Files dragged into the window: terminals paste their paths."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from urllib.parse import unquote, urlsplit

from hookline_hookspecs import Attachment, Paths
from hookline_hookspecs.file_origins import local_file_origins
from hookline_hookspecs.image_kinds import MAX_IMAGE_BYTES, image_kind

MAX_FILES = 20
"""Files of one drag."""
MAX_PASTE_CHARS = 20_000


def dragged_paths(text: str) -> list[Path]:
    """Return the files that a paste consists of; none if anything else is in it.

    Recognized are absolute paths and ``file://`` URLs of existing files, quoted or with
    backslashes.
    """
    stripped = text.strip()
    if not stripped or len(stripped) > MAX_PASTE_CHARS or stripped.count("\n") > MAX_FILES:
        return []
    whole = _path(stripped)
    if whole is not None:
        return [whole]
    try:
        words = shlex.split(stripped)
    except ValueError:
        return []
    if not 0 < len(words) <= MAX_FILES:
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


def workspace_reference(path: Path, paths: Paths) -> str | None:
    """Return ``@path`` for a readable path of the workspace, else None."""
    try:
        real = paths.resolve(str(path))
        inside = real.relative_to(Path(paths.workspace).resolve())
    except (OSError, ValueError):
        return None
    name = inside.as_posix() + ("/" if real.is_dir() else "")
    return f'@"{name}"' if re.search(r"\s", name) else f"@{name}"


def image_attachment(path: Path) -> Attachment | None:
    """Return the image at ``path``, recognized by its content; None if models do not accept it."""
    try:
        if not path.is_file():
            return None
        with path.open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            kind = image_kind(stream.read(16))
    except OSError:
        return None
    if kind is None or size > MAX_IMAGE_BYTES:
        return None
    real = path.resolve()
    return Attachment(real, kind.mime, path.name, size, origins=local_file_origins(real))
