"""Stores profiles and their versions.

A change reads the file under its lock. Edits by hand since the last change first become a version
of their own, so that nothing is lost. Then the file is written, and the new version is stored.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from hookline_hookspecs import Context, Host, Session, Transaction
from hookline_hookspecs.chat_files import Chat

from .profile import Profile, lines, new_lines
from .user_file import InvalidChange, UserFile

Result = TypeVar("Result")
BY_HAND = "hand"
"""The origin of a version that a person wrote by hand."""


@dataclass(frozen=True, slots=True)
class ChangeSource:
    """Where a version comes from: the session, its turn, and how (``curated``, ``pin``, ``unpin``,
    ``clear``, ``restore``, ``undo``, ``import``, ``hand``)."""

    how: str
    session_id: str = ""
    turn_id: str = ""

    @classmethod
    def command(cls, ctx: Context, how: str) -> ChangeSource:
        """Return the source of a person's command."""
        return cls(how, ctx.session.id, ctx.turn.id)

    @classmethod
    async def reviewed(cls, host: Host, session: Session) -> ChangeSource:
        """Return the source of a review: the last turn of the session."""
        rows = await host.storage.fetch("last_turn", session_id=session.id)
        return cls("curated", session.id, rows[0]["id"] if rows else "")


@dataclass(frozen=True, slots=True)
class ProfileVersion:
    """A stored version of a profile.

    ``version`` counts within the chat, ``id`` over all chats; ``created`` is Unix time in seconds.
    """

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
    def of(cls, row: Mapping[str, Any]) -> ProfileVersion:
        """Return the version of a database row."""
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
class StoredProfile:
    """A profile as it is on disk, and its parts."""

    text: str
    profile: Profile


class ProfileStore:
    """The profiles of all chats.

    Args:
        max_versions: previous versions kept of each profile.
    """

    def __init__(self, host: Host, max_versions: int) -> None:
        self._host = host
        self._max_versions = max_versions

    def file(self, chat: Chat) -> UserFile:
        """Return the file of a chat."""
        return UserFile(self._host.home, chat)

    async def present(self, chat: Chat) -> StoredProfile:
        """Return the profile on disk; lines missing from the newest version are a person's."""
        text = await asyncio.to_thread(self.file(chat).read)
        newest = next(iter(await self.versions(chat)), None)
        return _present(text, newest)

    async def versions(self, chat: Chat) -> list[ProfileVersion]:
        """Return the stored versions of a chat, newest first."""
        rows = await self._host.storage.fetch("versions_of", **asdict(chat))
        return [ProfileVersion.of(row) for row in rows]

    async def change(
        self,
        chat: Chat,
        source: ChangeSource,
        make: Callable[[StoredProfile, Sequence[ProfileVersion]], str],
    ) -> str:
        """Write and return the text that ``make`` returns for the current profile and its versions.

        ``make`` runs while the file is locked; it may raise ``InvalidChange`` to change nothing.
        """
        return await _uncancelled(self._change(chat, source, make))

    async def _change(
        self,
        chat: Chat,
        source: ChangeSource,
        make: Callable[[StoredProfile, Sequence[ProfileVersion]], str],
    ) -> str:
        versions = await self.versions(chat)
        file, newest = self.file(chat), next(iter(versions), None)

        def work() -> tuple[StoredProfile, str]:
            with file.locked(self._host.storage.dir / "locks"):
                present = _present(file.read(), newest)
                new_text = make(present, versions)
                if new_text != present.text:
                    file.write(new_text)
                return present, new_text

        present, new_text = await asyncio.to_thread(work)
        rows: list[tuple[str, Sequence[str], ChangeSource]] = []
        if present.text != (newest.text if newest else ""):
            rows.append((present.text, present.profile.by_hand, ChangeSource(BY_HAND)))
        if new_text != present.text:
            known = {*present.profile.by_hand, *_lines_by_hand(versions, new_text)}
            rows.append((new_text, [line for line in lines(new_text) if line in known], source))
        if rows:
            await self._host.storage.transact(lambda db: self._store(db, chat, rows))
        return new_text

    def _store(
        self, db: Transaction, chat: Chat, rows: Sequence[tuple[str, Sequence[str], ChangeSource]]
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
        db.execute("prune", **asdict(chat), oldest=version - self._max_versions)

    async def by_id(self, id_: int) -> ProfileVersion:
        """Return the version with this id. Raises ``InvalidChange`` if it is not stored."""
        rows = await self._host.storage.fetch("version_by_id", id=id_)
        if not rows:
            raise InvalidChange(f"no version {id_} of a profile is stored")
        return ProfileVersion.of(rows[0])


def _present(text: str, newest: ProfileVersion | None) -> StoredProfile:
    """Split a text into parts; a person's lines are the known ones and those that the newest
    version lacks."""
    known = newest.by_hand if newest else ()
    fresh = new_lines(text, newest.text if newest else "")
    return StoredProfile(text, Profile.of(text, [*known, *fresh]))


def _lines_by_hand(versions: Sequence[ProfileVersion], text: str) -> set[str]:
    """The lines written by hand in the version that ``text`` was restored from, if any."""
    return {line for version in versions if version.text == text for line in version.by_hand}


async def _uncancelled(work: Coroutine[Any, Any, Result]) -> Result:
    """Finish ``work`` even if cancelled, so that a stopped turn leaves nothing half done."""
    task = asyncio.ensure_future(work)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    return await asyncio.shield(task)
