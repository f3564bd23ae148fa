"""Uploads and downloads. Files are named by id, never by path."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid4, uuid5

from hookline_channelkit import FileTooLarge, MediaStore
from hookline_hookspecs import Attachment, Audio, Host, Reply
from hookline_hookspecs.file_origins import received_file_origins
from hookline_hookspecs.web import Identity, Problem, t

from .session_owner import CHANNEL, Chat, is_uuid, may_see, owner

MAX_FILE_BYTES = 25_000_000
MAX_FILES = 20
"""Files of one message."""
UNUSED_FILE_SECONDS = 86400.0
"""Seconds after which an upload without a message is deleted."""
MAX_PENDING_FILES = 4096
Row = Mapping[str, Any]


class Files:
    """Stores files in the table ``web_ui_files`` and the folder ``media/web``."""

    def __init__(self, host: Host) -> None:
        self._host, self._storage = host, host.storage
        self._media = MediaStore(host, CHANNEL, MAX_FILE_BYTES)
        self._known: dict[str, dict[str, Any]] = {}
        """Files of messages whose turn has not begun, by path."""

    async def put(
        self,
        who: Identity,
        id_: str,
        data: AsyncIterable[bytes],
        name: str,
        voice: bool,
        duration: float,
    ) -> tuple[dict[str, Any], bool]:
        """Store a file; returns it, and whether it existed already.

        Raises :class:`Problem` (404, 409, 413, 507).
        """
        if not is_uuid(id_):
            raise Problem(404, "not_found", "A file id must be a lower-case UUID.")
        found = await self._storage.fetch("file", id=id_)
        if found:
            return as_json(self._mine(who, found[0])), True
        try:
            saved: Attachment | Audio
            if voice:
                saved = await self._media.save_audio(data, duration)
            else:
                saved = await self._media.save_attachment(data, name)
        except FileTooLarge as error:
            raise Problem(413, "too_large", str(error), t("Send a smaller file.")) from None
        except OSError as error:
            why = t("Could not store the file: {error}.", error=error.strerror or error)
            raise Problem(507, "not_stored", why) from None
        row = await self._row(id_, who.name, saved, "in", None, None)
        row["name"] = name if voice and name else row["name"] or name
        await self._storage.execute("put_file", **row)
        return as_json(row), False

    def _mine(self, who: Identity, row: Row) -> Row:
        if row["owner"] != who.name:
            raise Problem(409, "taken", "A file with this id exists already.", "Use a new UUID.")
        return row

    async def _row(
        self,
        id_: str,
        name: str,
        item: Attachment | Audio,
        side: str,
        session_id: str | None,
        turn_id: str | None,
    ) -> dict[str, Any]:
        audio = isinstance(item, Audio) or item.mime.startswith("audio/")
        kind = "audio" if audio else "image" if item.mime.startswith("image/") else "file"
        size = item.size if isinstance(item, Attachment) else await _size(item.path)
        return {
            "id": id_,
            "owner": name,
            "session_id": session_id,
            "turn_id": turn_id,
            "side": side,
            "name": item.name if isinstance(item, Attachment) else item.path.name,
            "mime": item.mime,
            "size": size,
            "caption": getattr(item, "caption", ""),
            "kind": kind if isinstance(item, Attachment) else "voice",
            "duration": item.duration if isinstance(item, Audio) else 0.0,
            "path": str(item.path),
            "created": self._host.now(),
        }

    async def attached(self, who: Identity, ids: Sequence[str]) -> tuple[Attachment | Audio, ...]:
        """Return the files for a new message.

        Raises :class:`Problem` (404) if one of them is not this person's.
        """
        items: list[Attachment | Audio] = []
        for id_ in ids:
            found = await self._storage.fetch("file", id=id_) if is_uuid(id_) else []
            if not found or found[0]["owner"] != who.name or found[0]["side"] != "in":
                raise Problem(
                    404, "no_file", t("File {id} not found.", id=id_), t("Upload it again.")
                )
            row = found[0]
            if row["kind"] == "voice":
                # The page uploads as voice only what it recorded.
                items.append(Audio(Path(row["path"]), row["mime"], row["duration"], origins=()))
            else:
                name = row["name"]
                origins = received_file_origins(name)
                items.append(
                    Attachment(Path(row["path"]), row["mime"], name, row["size"], origins=origins)
                )
            self._know(row)
        return tuple(items)

    def began(
        self,
        items: Sequence[Attachment | Audio],
        session_id: str,
        turn_id: str,
        found: Callable[[list[dict[str, Any]]], None],
    ) -> list[dict[str, Any]]:
        """Return the files of a message whose turn begins, and store that turn.

        If another process received the message, they are read from the store, and ``found`` is
        called with all of them later.
        """
        if not items:
            return []
        paths = [str(item.path) for item in items]
        known = [row for path in paths if (row := self._known.get(path)) is not None]
        later = found if len(known) < len(paths) else None
        self._host.spawn(self._place(paths, session_id, turn_id, later), "place files")
        return [as_json(row) for row in known]

    async def _place(
        self,
        paths: Sequence[str],
        session_id: str,
        turn_id: str,
        found: Callable[[list[dict[str, Any]]], None] | None,
    ) -> None:
        rows: list[Row] = []
        for path in paths:
            rows += await self._storage.fetch("file_at", path=path)
        for row in rows:
            await self._storage.execute(
                "place_file", id=row["id"], session_id=session_id, turn_id=turn_id
            )
            self._know(row)
        if rows and found is not None:
            found([as_json(row) for row in rows])

    def _know(self, row: Row) -> None:
        self._known[row["path"]] = dict(row)
        while len(self._known) > MAX_PENDING_FILES:
            del self._known[next(iter(self._known))]

    async def of_reply(self, reply: Reply, session_id: str, turn_id: str) -> list[dict[str, Any]]:
        """Store the attachments of a reply for download, and return them."""
        here = (reply.session.channel, reply.session.chat_id)
        return await self.keep(reply.id, here, reply.attachments, session_id, turn_id)

    async def known(self, name: str) -> list[dict[str, Any]]:
        """Return the first file that :meth:`keep` stored under this name, if any."""
        return [as_json(row) for row in await self._storage.fetch("file", id=_numbered(name, 0))]

    async def keep(
        self,
        name: str,
        chat: Chat,
        items: Iterable[Attachment | Audio],
        session_id: str,
        turn_id: str,
    ) -> list[dict[str, Any]]:
        """Store files of an answer; ids are made from ``name``, so that they are stored once."""
        made = []
        for number, item in enumerate(items):
            row = await self._row(
                _numbered(name, number), owner(chat) or "", item, "out", session_id, turn_id
            )
            await self._storage.execute("put_file", **row)
            made.append(as_json(row))
        return made

    async def by_turn(self, session_id: str) -> dict[tuple[str, str], list[dict[str, Any]]]:
        """Return the files of a session by turn and side."""
        found: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for row in await self._storage.fetch("files_of", session_id=session_id):
            found.setdefault((row["turn_id"], row["side"]), []).append(as_json(row))
        return found

    async def again(
        self, who: Identity, session_id: str, turn_id: str, kept: Sequence[Any] | None = None
    ) -> list[dict[str, Any]]:
        """Return copies of a message's files for another message; missing ones are left out.

        ``kept`` are the ids of those to copy; None means all.
        """
        made = []
        for row in await self._storage.fetch("files_of", session_id=session_id):
            if row["turn_id"] != turn_id or row["side"] != "in":
                continue
            if kept is not None and row["id"] not in kept:
                continue
            data, is_voice = _read(Path(row["path"])), row["kind"] == "voice"
            with suppress(Problem):
                new = str(uuid4())
                stored = await self.put(who, new, data, row["name"], is_voice, row["duration"])
                made.append(stored[0])
        return made

    async def at(self, who: Identity, paths: Iterable[str]) -> list[dict[str, Any]]:
        """Return this person's uploads that are stored at these paths."""
        found = [row for path in paths for row in await self._storage.fetch("file_at", path=path)]
        return [as_json(row) for row in found if row["owner"] == who.name]

    async def get(self, who: Identity, id_: str) -> tuple[Path, dict[str, Any]]:
        """Return path and data of a file that the person may have.

        Raises :class:`Problem` (404, 410).
        """
        found = await self._storage.fetch("file", id=id_) if is_uuid(id_) else []
        if not found or not _may_have(who, found[0]):
            raise Problem(404, "not_found", t("File not found."))
        path = Path(found[0]["path"])
        if not await asyncio.to_thread(path.is_file):
            raise Problem(410, "gone", t("The file has been deleted."))
        return path, as_json(found[0])

    async def forget(self, session_id: str) -> None:
        """Remove the files of a session from the table, and delete its uploads."""
        for row in await self._storage.fetch("files_of", session_id=session_id):
            if row["side"] == "in":
                await asyncio.to_thread(Path(row["path"]).unlink, missing_ok=True)
        await self._storage.execute("forget_files", session_id=session_id)

    async def prune(self) -> None:
        """Delete unused uploads."""
        before = self._host.now() - UNUSED_FILE_SECONDS
        for row in await self._storage.fetch("unused_files", before=before):
            await asyncio.to_thread(Path(row["path"]).unlink, missing_ok=True)
            await self._storage.execute("forget_file", id=row["id"])


def _numbered(name: str, number: int) -> str:
    return str(uuid5(NAMESPACE_URL, f"hookline:{name}:{number}"))


def as_json(row: Row) -> dict[str, Any]:
    """Return a file for the page's API."""
    names = ("id", "name", "mime", "size", "caption", "kind", "duration")
    return {name: row[name] for name in names}


def _may_have(who: Identity, row: Row) -> bool:
    if who.channel == CHANNEL and row["owner"] == who.name:
        return True
    return row["channel"] is not None and may_see(who, (row["channel"], row["chat_id"]))


async def _read(path: Path) -> AsyncIterator[bytes]:
    yield await asyncio.to_thread(path.read_bytes)


async def _size(path: Path) -> int:
    try:
        return (await asyncio.to_thread(path.stat)).st_size
    except OSError:
        return 0
