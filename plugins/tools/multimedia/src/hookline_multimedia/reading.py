"""Reading a file or a URL that a model named: only where that is allowed, and only so much.

:class:`Reader` is the one way in. Files are opened through ``ctx.paths``, below the folders of
``allowed_read_dirs``, or because they belong to this chat: what came with its messages, and what
was made before. URLs go through ``host.http``.
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

CAME = "came"
"""The key of the session's stash under which the paths of its messages' files stand."""
SECONDS = 60.0
"""For a URL, redirects and body included."""

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?://|(?=.*,))")
_FOLDER = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_FILE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class Found:
    """What was read. ``kind`` is that of the gate ``pre_read``: ``file`` or ``web``."""

    data: bytes
    source: str
    kind: str


class Reader:
    """Reads what a model names. ``folders`` are allowed beside the workspace."""

    def __init__(self, host: Host, folders: Sequence[Path]) -> None:
        self._host = host
        self._home = Path(os.path.realpath(host.home))
        self._media = media_folder(host.home)
        self._folders = [Path(os.path.realpath(folder.expanduser())) for folder in folders]

    def allow(self, ctx: Context, came: Iterable[Attachment | Audio]) -> None:
        """Files that came with a message may be read for as long as the session is in memory."""
        if names := [str(item.path) for item in came]:
            ctx.stash.session.setdefault(CAME, set()).update(names)

    async def read(self, ctx: Context, name: str, most: int) -> Found:
        """The bytes of a file or URL, at most ``most``.

        Raises:
            Refused: it may not be read.
            ToolError: it cannot be read, or is larger.
        """
        name = name.strip()
        scheme = _SCHEME.match(name)
        if scheme and scheme[1].lower() in ("http", "https"):
            return await self._fetch(name, most)
        if scheme:
            raise ToolError(f"only http, https and paths are read, not {scheme[1][:40]}")
        try:
            data = await asyncio.to_thread(self._read, ctx, name, most)
        except Refused:
            raise
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise ToolError(f"{_shown(name)} cannot be read: {why}") from None
        return Found(data, name, "file")

    async def _fetch(self, url: str, most: int) -> Found:
        found = await self._host.http.get(url, max_bytes=most, timeout=SECONDS)
        if found.status != 200:
            raise ToolError(f"{url[:200]} answered {found.status}")
        return Found(found.body, url, "web")

    def _read(self, ctx: Context, name: str, most: int) -> bytes:
        with self._open(ctx, name) as stream:
            return read_bounded(stream, most, _shown(name))

    def _open(self, ctx: Context, name: str) -> BinaryIO:
        path = Path(name)
        if path.parent == self._media and is_kept(path.name):
            return open_kept(self._media, path.name)
        now = {str(item.path) for item in ctx.turn.inbound.attachments}
        if name in now or name in ctx.stash.session.get(CAME, ()):
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
        """The allowed folder that a path really lies in, and the real path."""
        expanded = os.path.expanduser(name)  # noqa: PTH111 - Path's own raises for ~nobody
        if not self._folders or not Path(expanded).is_absolute():
            return None
        try:
            real = Path(os.path.realpath(expanded))
        except ValueError:  # a NUL within
            return None
        if self._home in real.parents:
            return None
        return next(((folder, real) for folder in self._folders if folder in real.parents), None)


def read_bounded(stream: BinaryIO, most: int, name: str) -> bytes:
    """All of a stream. Raises ``ToolError`` if it has more than ``most`` bytes."""
    held = os.fstat(stream.fileno()).st_size
    data = stream.read(most + 1) if held <= most else b""
    if max(held, len(data)) > most:
        raise ToolError(f"{name} has {size(max(held, len(data)))}; at most {size(most)} are taken")
    return data


def size(count: int) -> str:
    """A number of bytes for people."""
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count} bytes"


def _refuse_secret(ctx: Context, real: Path) -> None:
    """Raise ``Refused`` for the name of a secret file outside of the workspace.

    The guard refuses everything outside for that alone and says no more, so it is asked about the
    same names below the workspace.
    """
    if reason := ctx.paths.judge(str(ctx.paths.workspace.joinpath(*real.parts[1:]))):
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
            raise Refused(f"{_shown(str(real))} is no file with content.")
        file = os.open(name, os.O_RDONLY | _FILE, dir_fd=handle)
    finally:
        os.close(handle)
    return os.fdopen(file, "rb")


def _shown(name: str) -> str:
    return repr(name if len(name) <= 200 else name[:199] + "…")
