"""Reads a file or URL that a model named, within permissions and size limits.

Files are opened through ``ctx.paths``, below the folders of
``allowed_read_dirs``, or because they belong to this chat: attachments of its messages, and files
made before. URLs go through ``host.http``.
"""

from __future__ import annotations

import asyncio
import os
import re
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from hookline_hookspecs import Attachment, Audio, Context, Host, Refused, ToolError
from hookline_hookspecs.regular_files import open_regular
from hookline_hookspecs.speech import is_kept, media_folder, open_kept

ATTACHED_KEY = "attached"
"""Key in the session's stash: the paths of its messages' attachments."""
URL_TIMEOUT = 60.0
"""Seconds to fetch a URL, redirects and body included."""

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?://|(?=.*,))")
_FOLDER = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_FILE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class MediaContent:
    """What was read. ``kind`` is ``file`` or ``web``, for ``pre_read``."""

    data: bytes
    source: str
    kind: str


class MediaReader:
    """Reads files and URLs. ``folders`` are allowed in addition to the workspace."""

    def __init__(self, host: Host, folders: Sequence[Path]) -> None:
        self._host = host
        self._home = Path(os.path.realpath(host.home))
        self._media = media_folder(host.home)
        self._folders = [Path(os.path.realpath(folder.expanduser())) for folder in folders]

    def allow(self, ctx: Context, attachments: Iterable[Attachment | Audio]) -> None:
        """Allow attachments of a message to be read as long as the session is in memory."""
        if names := [str(item.path) for item in attachments]:
            ctx.stash.session.setdefault(ATTACHED_KEY, set()).update(names)

    async def read(self, ctx: Context, name: str, max_bytes: int) -> MediaContent:
        """The bytes of a file or URL, at most ``max_bytes``.

        Raises:
            Refused: it may not be read.
            ToolError: it cannot be read, or is larger.
        """
        name = name.strip()
        scheme = _SCHEME.match(name)
        if scheme and scheme[1].lower() in ("http", "https"):
            return await self._fetch(name, max_bytes)
        if scheme:
            raise ToolError(f"only http, https and paths can be read, not {scheme[1][:40]}")
        try:
            data = await asyncio.to_thread(self._read, ctx, name, max_bytes)
        except Refused:
            raise
        except (OSError, ValueError) as error:
            strerror = error.strerror if isinstance(error, OSError) else None
            raise ToolError(f"{_quoted(name)} cannot be read: {strerror or error}") from None
        return MediaContent(data, name, "file")

    async def _fetch(self, url: str, max_bytes: int) -> MediaContent:
        response = await self._host.http.get(url, max_bytes=max_bytes, timeout=URL_TIMEOUT)
        if response.status != 200:
            raise ToolError(f"{url[:200]} answered {response.status}")
        return MediaContent(response.body, url, "web")

    def _read(self, ctx: Context, name: str, max_bytes: int) -> bytes:
        with self._open(ctx, name) as stream:
            return read_bounded(stream, max_bytes, _quoted(name))

    def _open(self, ctx: Context, name: str) -> BinaryIO:
        path = Path(name)
        if path.parent == self._media and is_kept(path.name):
            return open_kept(self._media, path.name)
        current = {str(item.path) for item in ctx.turn.inbound.attachments}
        if name in current or name in ctx.stash.session.get(ATTACHED_KEY, ()):
            return open_regular(path)
        try:
            return ctx.paths.open_read(ctx.paths.resolve(name))
        except Refused:
            allowed = self._allowed(name)
            if allowed is None:
                raise
        folder, real = allowed
        _refuse_secret(ctx, real)
        return _open_below(folder, real)

    def _allowed(self, name: str) -> tuple[Path, Path] | None:
        """The allowed folder that contains the path, and the resolved path."""
        expanded = os.path.expanduser(name)  # noqa: PTH111 - Path's own raises for ~nobody
        if not self._folders or not Path(expanded).is_absolute():
            return None
        try:
            real = Path(os.path.realpath(expanded))
        except ValueError:  # it contains a NUL
            return None
        if self._home in real.parents:
            return None
        return next(((folder, real) for folder in self._folders if folder in real.parents), None)


def read_bounded(stream: BinaryIO, max_bytes: int, name: str) -> bytes:
    """All of a stream. Raises ``ToolError`` if it has more than ``max_bytes`` bytes."""
    stored = os.fstat(stream.fileno()).st_size
    data = stream.read(max_bytes + 1) if stored <= max_bytes else b""
    found = max(stored, len(data))
    if found > max_bytes:
        limit = format_bytes(max_bytes)
        raise ToolError(f"{name} has {format_bytes(found)}; at most {limit} are allowed")
    return data


def format_bytes(count: int) -> str:
    """A number of bytes for people."""
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count} bytes"


def _refuse_secret(ctx: Context, real: Path) -> None:
    """Raise ``Refused`` for the name of a secret file outside of the workspace.

    Outside of the workspace the guard refuses every path for that reason alone, so it checks the
    same names below the workspace.
    """
    if reason := ctx.paths.check_path(str(ctx.paths.workspace.joinpath(*real.parts[1:]))):
        raise Refused(reason)


def _open_below(folder: Path, real: Path) -> BinaryIO:
    """Open a regular file one component at a time, so that no link swapped in is followed."""
    *inner, name = real.relative_to(folder).parts
    if os.open not in os.supports_dir_fd:  # Windows: no handles on folders.
        return real.open("rb")
    handle = os.open(folder, os.O_RDONLY | _FOLDER)
    try:
        for part in inner:
            deeper = os.open(part, os.O_RDONLY | _FOLDER, dir_fd=handle)
            os.close(handle)
            handle = deeper
        if not stat.S_ISREG(os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode):
            raise Refused(f"{_quoted(str(real))} is not a regular file.")
        file = os.open(name, os.O_RDONLY | _FILE, dir_fd=handle)
    finally:
        os.close(handle)
    return os.fdopen(file, "rb")


def _quoted(name: str) -> str:
    return repr(name if len(name) <= 200 else name[:199] + "…")
