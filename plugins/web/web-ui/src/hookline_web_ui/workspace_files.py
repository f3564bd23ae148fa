"""The files of a chat's workspace: lists them, reads them and takes uploads."""

from __future__ import annotations

import asyncio
import codecs
import mimetypes
import os
import re
import stat
from collections.abc import AsyncIterable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from tempfile import SpooledTemporaryFile
from typing import IO, Any, BinaryIO

from hookline_hookspecs import Host
from hookline_hookspecs.paths import Paths
from hookline_hookspecs.web import Identity, Problem, t
from hookline_hookspecs.workspaces import FileChanges, FileHistory, Workspaces
from hookline_textmatch import legacy_encoding

from .session_owner import is_mine
from .session_reader import SessionReader
from .versions import Versions
from .work_folders import ChatFolders

MAX_ENTRIES = 1000
"""Entries of a folder to show."""
MAX_TEXT_BYTES = 400_000
"""Bytes of a text to show."""
MAX_RAW_BYTES = 50_000_000
"""Bytes of a file that the page shows or downloads."""
SPOOLED_BYTES = 1_000_000
SKIPPED = frozenset({".git"})
SHOWN = {
    **dict.fromkeys((".md", ".markdown"), "markdown"),
    **dict.fromkeys((".csv", ".tsv"), "table"),
    **dict.fromkeys((".html", ".htm"), "page"),
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".bmp", ".svg"), "image"),
    ".pdf": "pdf",
}
"""How a file is shown, by its suffix; others as text, if they are text."""


@dataclass(frozen=True, slots=True)
class ChatWorkspace:
    """The workspace of a chat, for one person.

    Attributes:
        row: the session.
        paths: what may be read and written there.
        writable: whether the person may add files.
        sessions: all versions of the chat.
    """

    row: Mapping[str, Any]
    paths: Paths
    writable: bool
    sessions: tuple[str, ...]

    @property
    def root(self) -> Path:
        """The folder."""
        return self.paths.workspace

    def resolve(self, path: str) -> Path:
        """Return the real path of a file below the workspace.

        Raises :class:`Problem` (404, 403) if it is elsewhere, or off limits.
        """
        inner = PurePosixPath(path)
        if inner.is_absolute() or ".." in inner.parts or "\0" in path or path.startswith("~"):
            raise _missing(path)
        if SKIPPED.intersection(inner.parts):
            raise _missing(path)
        try:
            real = self.paths.resolve(str(self.root / inner))
        except PermissionError as error:
            raise Problem(403, "forbidden", str(error)) from None
        if real != self.root and self.root not in real.parents:
            raise _missing(path)
        return real


class WorkspaceFiles:
    """Shows the files of chats to people who may see the chats."""

    def __init__(
        self, host: Host, reader: SessionReader, versions: Versions, folders: ChatFolders
    ) -> None:
        self._host, self._reader = host, reader
        self._versions, self._folders = versions, folders

    async def of(self, who: Identity, session_id: str) -> ChatWorkspace:
        """Return a chat's workspace. Raises :class:`Problem` (404, 403).

        People who are not operators see only a folder that is their chat's own: one that several
        chats share may hold what they may not read.
        """
        row = await self._reader.row(who, session_id)
        folder = await self._folders.workspace(row)
        workspaces = self._host.services[Workspaces]
        if not who.is_operator and not workspaces.is_private(folder):
            raise Problem(403, "forbidden", t("Only operators can see the files of this folder."))
        mine = is_mine(who, (row["channel"], row["chat_id"]))
        family = tuple(await self._versions.family(row["id"]))
        return ChatWorkspace(row, workspaces.paths(folder), mine, family)

    async def list(self, workspace: ChatWorkspace, path: str) -> dict[str, Any]:
        """Return the entries of a folder, folders first."""
        real = workspace.resolve(path)
        entries, more = await asyncio.to_thread(_entries, workspace.paths, real)
        if entries is None and real != workspace.root:
            raise _missing(path)
        return {
            "root": str(workspace.root),
            "writable": workspace.writable,
            "entries": entries or [],
            "more": more,
        }

    async def changes(self, workspace: ChatWorkspace) -> dict[str, Any]:
        """Return what the agent has changed in this chat, and since its last checkpoint."""
        whole = await self._changes(workspace, first=True)
        last = await self._changes(workspace, first=False) if whole else None
        files = dict(whole.files) if whole else {}
        return {
            "files": files,
            "times": await asyncio.to_thread(_times, workspace.root, files),
            "since": last.since if last else None,
            "last": sorted(last.files) if last else [],
        }

    async def _changes(self, workspace: ChatWorkspace, *, first: bool) -> FileChanges | None:
        history = self._host.services.get(FileHistory)
        if history is None or not await asyncio.to_thread(workspace.root.is_dir):
            return None
        chat = (workspace.row["channel"], workspace.row["chat_id"])
        return await history.changes(workspace.sessions, chat, workspace.paths, first=first)

    async def text(self, workspace: ChatWorkspace, path: str) -> dict[str, Any]:
        """Return what is known of a file, with its text if it has one."""
        with await self.open(workspace, path) as file:
            return await asyncio.to_thread(described, file, path)

    async def before(self, workspace: ChatWorkspace, path: str) -> dict[str, Any]:
        """Return the text of a file at the last checkpoint; empty if it did not exist."""
        workspace.resolve(path)
        history = self._host.services.get(FileHistory)
        data = None
        if history is not None:
            chat = (workspace.row["channel"], workspace.row["chat_id"])
            data = await history.before(workspace.sessions, chat, workspace.paths, path)
        whole = data is None or len(data) <= MAX_TEXT_BYTES
        return {"text": _text(data or b"") if whole else None}

    async def open(self, workspace: ChatWorkspace, path: str) -> BinaryIO:
        """Open a file. Raises :class:`Problem` (404, 403, 413)."""
        real = workspace.resolve(path)
        try:
            file = await asyncio.to_thread(workspace.paths.open_read, real)
        except PermissionError as error:
            raise Problem(403, "forbidden", str(error)) from None
        except OSError:
            raise _missing(path) from None
        if os.fstat(file.fileno()).st_size > MAX_RAW_BYTES:
            file.close()
            raise Problem(413, "too_large", t("The file is too large for the page."))
        return file

    async def put(
        self, workspace: ChatWorkspace, path: str, data: AsyncIterable[bytes], *, overwrite: bool
    ) -> None:
        """Store an upload. Raises :class:`Problem` (403, 404, 409, 507)."""
        if not workspace.writable:
            raise Problem(403, "forbidden", t("Only the owner of the chat can add files."))
        real = workspace.resolve(path)
        if real == workspace.root or await asyncio.to_thread(real.is_dir):
            raise Problem(
                409, "folder", t("{path} is a folder.", path=path), t("Choose another name.")
            )
        reason = workspace.paths.write_refusal(real) or workspace.paths.caution(str(real))
        if reason:
            raise Problem(403, "forbidden", reason, t("Put the file there by hand."))
        if not overwrite and await asyncio.to_thread(os.path.lexists, real):
            raise Problem(409, "exists", t("{path} exists already.", path=path))
        with SpooledTemporaryFile(SPOOLED_BYTES) as spooled:
            async for chunk in data:
                await asyncio.to_thread(spooled.write, chunk)
            spooled.seek(0)
            try:
                await asyncio.to_thread(_write, workspace, real, spooled)
            except PermissionError as error:
                raise Problem(403, "forbidden", str(error)) from None
            except OSError as error:
                why = t("Could not store the file: {error}.", error=error.strerror or error)
                raise Problem(507, "not_stored", why) from None


def _times(root: Path, files: Iterable[str]) -> dict[str, float]:
    """When files were last written, Unix time in seconds, of the first :data:`MAX_ENTRIES`.

    Programs such as ``tar`` and ``cp -p`` set an earlier time of writing; then it is when they did.
    """
    found = {}
    for path in islice(files, MAX_ENTRIES):
        try:
            status = (root / path).lstat()
        except OSError:
            continue  # deleted
        found[path] = max(status.st_mtime, status.st_ctime)
    return found


def described(file: BinaryIO, name: str) -> dict[str, Any]:
    """Return what the page shows of an open file: its size, how it is shown, and its text."""
    size = os.fstat(file.fileno()).st_size
    data = file.read(MAX_TEXT_BYTES)
    suffix = PurePosixPath(name).suffix.lower()
    how = SHOWN.get(suffix, "text")
    text = _text(data) if how not in ("image", "pdf") or suffix == ".svg" else None
    if how == "table" and text is None:
        text = _legacy_text(data)
    if how == "text" and text is None:
        how = "binary"
    cut = size > len(data) and text is not None
    return {"name": PurePosixPath(name).name, "size": size, "as": how, "text": text, "cut": cut}


def _write(workspace: ChatWorkspace, real: Path, data: IO[bytes]) -> None:
    workspace.root.mkdir(mode=0o700, parents=True, exist_ok=True)
    with workspace.paths.open_write(str(real)) as file:
        while piece := data.read(SPOOLED_BYTES):
            file.write(piece)


def _entries(paths: Paths, folder: Path) -> tuple[list[dict[str, Any]] | None, bool]:
    """Return the entries that may be read, folders first, and whether there are more; None if it
    is not a folder."""
    found: list[dict[str, Any]] = []
    try:
        entries = sorted(os.scandir(folder), key=lambda one: _in_order(one.name))
    except OSError:
        return None, False
    for entry in entries:
        if entry.name in SKIPPED or paths.check_path(entry.path) is not None:
            continue
        if not _leads_inside(paths, entry):
            continue
        try:
            status = entry.stat()
        except OSError:
            continue
        if stat.S_ISDIR(status.st_mode):
            found.append({"name": _name(entry.name), "folder": True})
        elif stat.S_ISREG(status.st_mode):
            found.append(
                {"name": _name(entry.name), "size": status.st_size, "changed": status.st_mtime}
            )
    found.sort(key=lambda one: not one.get("folder"))
    return found[:MAX_ENTRIES], len(found) > MAX_ENTRIES


def _in_order(name: str) -> list[str | int]:
    """A key by which ``f2`` comes before ``f10``."""
    return [int(one) if one.isdecimal() else one for one in re.split(r"(\d+)", name.lower())]


def _leads_inside(paths: Paths, entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is no link out of the workspace."""
    if not entry.is_symlink():
        return True
    real = Path(os.path.realpath(entry.path))
    return paths.workspace in real.parents


def _name(name: str) -> str:
    return name.encode("utf-8", "replace").decode("utf-8")


def _text(data: bytes) -> str | None:
    """Return a file's beginning as text, or None if it is not text."""
    if b"\0" in data[:8000]:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start >= len(data) - 3:  # a character that is cut at the end
            return data[: error.start].decode("utf-8")
        return None


def _legacy_text(data: bytes) -> str | None:
    """Return the beginning of a table as spreadsheets save it, in UTF-16 or an older encoding."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    if b"\0" in data:
        return None
    return data.decode(legacy_encoding(data, cut=True).codec, "replace")


def mime_of(path: str) -> str:
    """Return the media type of a file by its name."""
    return mimetypes.guess_type(path)[0] or "application/octet-stream"


def _missing(path: str) -> Problem:
    return Problem(404, "not_found", t("{path} does not exist in this chat's folder.", path=path))
