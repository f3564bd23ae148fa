"""Portraits and their versions: reads, changes and restores them.

A change reads the file under its lock; what a person wrote since the last change first becomes a
version of its own, so that nothing is lost. Then the file is written, then the new version is
stored.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from hookline_hookspecs import Context, Host, Session, Transaction
from hookline_hookspecs.chat_files import Chat

from .portrait import Portrait, lines, new_lines
from .userfile import Complaint, UserFile

T = TypeVar("T")
BY_HAND = "hand"
"""The origin of a version that a person wrote."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a version comes from: the session, its turn, and how (``curated``, ``pin``, ``clear``,
    ``restore``, ``undo``, ``hand``)."""

    how: str
    session_id: str = ""
    turn_id: str = ""

    @classmethod
    def command(cls, ctx: Context, how: str) -> Source:
        """The origin of a person's command."""
        return cls(how, ctx.session.id, ctx.turn.id)

    @classmethod
    async def reviewed(cls, host: Host, session: Session) -> Source:
        """The origin of what is learned from a session: its last turn is named."""
        rows = await host.storage.fetch("last_turn", session_id=session.id)
        return cls("curated", session.id, rows[0]["id"] if rows else "")


@dataclass(frozen=True, slots=True)
class Version:
    """A stored portrait. ``version`` counts within the chat, ``id`` over all chats; ``created`` is
    Unix time in seconds."""

    id: int
    chat: Chat
    version: int
    text: str
    by_hand: tuple[str, ...]
    origin: str
    session_id: str
    turn_id: str
    created: float

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Version:
        """A stored row."""
        return cls(
            row["id"],
            Chat(row["channel"], row["chat_id"]),
            row["version"],
            row["text"],
            tuple(json.loads(row["by_hand"])),
            row["origin"],
            row["session_id"],
            row["turn_id"],
            row["created"],
        )


@dataclass(frozen=True, slots=True)
class Present:
    """A portrait as it is on disk, and its parts."""

    text: str
    portrait: Portrait


class Portraits:
    """The portraits of all chats."""

    def __init__(self, host: Host, kept: int) -> None:
        """``kept``: previous versions of each."""
        self._host = host
        self._kept = kept

    def file(self, chat: Chat) -> UserFile:
        """The chat's file."""
        return UserFile(self._host.home, chat)

    async def present(self, chat: Chat) -> Present:
        """Return what is on disk; lines that the newest version lacks were written by a person."""
        text = await asyncio.to_thread(self.file(chat).read)
        newest = next(iter(await self.past(chat)), None)
        return _present(text, newest)

    async def past(self, chat: Chat) -> list[Version]:
        """Return every stored version of a chat, newest first; that is the current one, unless the
        file was edited since."""
        rows = await self._host.storage.fetch("versions_of", **asdict(chat))
        return [Version.of(row) for row in rows]

    async def change(
        self, chat: Chat, source: Source, make: Callable[[Present, Sequence[Version]], str]
    ) -> str:
        """Write and return what ``make`` makes of the current portrait and its versions.

        ``make`` runs while the file is locked, and may raise ``Complaint`` to change nothing.
        """
        return await _whole(self._change(chat, source, make))

    async def _change(
        self, chat: Chat, source: Source, make: Callable[[Present, Sequence[Version]], str]
    ) -> str:
        past = await self.past(chat)
        file, newest = self.file(chat), next(iter(past), None)

        def work() -> tuple[Present, str]:
            with file.locked(self._host.storage.dir / "locks"):
                present = _present(file.read(), newest)
                made = make(present, past)
                if made != present.text:
                    file.write(made)
                return present, made

        present, made = await asyncio.to_thread(work)
        rows: list[tuple[str, Sequence[str], Source]] = []
        if present.text != (newest.text if newest else ""):
            rows.append((present.text, present.portrait.by_hand, Source(BY_HAND)))
        if made != present.text:
            known = {*present.portrait.by_hand, *_hands(past, made)}
            rows.append((made, [line for line in lines(made) if line in known], source))
        if rows:
            await self._host.storage.transact(lambda db: self._store(db, chat, rows))
        return made

    def _store(
        self, db: Transaction, chat: Chat, rows: Sequence[tuple[str, Sequence[str], Source]]
    ) -> None:
        stored = db.fetch("versions_of", **asdict(chat))
        version = stored[0]["version"] if stored else 0
        for text, by_hand, source in rows:
            version += 1
            db.execute("next_number")
            db.execute(
                "add_version",
                id=db.fetch("last_number")[0]["last"],
                **asdict(chat),
                version=version,
                text=text,
                by_hand=json.dumps(list(by_hand), ensure_ascii=False),
                origin=source.how,
                session_id=source.session_id,
                turn_id=source.turn_id,
                created=self._host.now(),
            )
        db.execute("prune", **asdict(chat), oldest=version - self._kept)

    async def by_id(self, id_: int) -> Version:
        """Return the version of this number. Raises ``Complaint`` if it is not kept."""
        rows = await self._host.storage.fetch("version_by_id", id=id_)
        if not rows:
            raise Complaint(f"there is no version {id_} of a user model any more")
        return Version.of(rows[0])


def _present(text: str, newest: Version | None) -> Present:
    """Split what is on disk: a person's lines are those known as such and those that the newest
    version lacks."""
    known = newest.by_hand if newest else ()
    fresh = new_lines(text, newest.text if newest else "")
    return Present(text, Portrait.of(text, [*known, *fresh]))


def _hands(past: Sequence[Version], text: str) -> set[str]:
    """A person's lines of the version that ``text`` is put back from, if it is."""
    return {line for one in past if one.text == text for line in one.by_hand}


async def _whole(work: Coroutine[Any, Any, T]) -> T:
    """Await ``work`` despite cancellation, so that a stopped turn leaves nothing half done."""
    task = asyncio.ensure_future(work)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    return await asyncio.shield(task)
