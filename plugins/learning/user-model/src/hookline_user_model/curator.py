"""Updates a profile from the person's new messages, with the auxiliary model.

A bad answer never damages the profile: one that is not JSON, null, blank or unchanged changes
nothing; one that is too long is sent back once to be shortened; lines that a person pinned or wrote
are kept word for word.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeGuard

from hookline_hookspecs import (
    Block,
    Host,
    Message,
    Origin,
    ProviderError,
    Refused,
    Session,
    TextBlock,
    ToolResultBlock,
    merge_origins,
)
from hookline_hookspecs.chat_files import Chat, storable

from .config import UserModelConfig
from .profile import join_lines, lines
from .profiles import ChangeSource, ProfileStore, ProfileVersion, StoredProfile
from .user_file import InvalidChange, file_name

SCHEMA = {
    "type": "object",
    "properties": {"narrative": {"type": ["string", "null"]}},
    "required": ["narrative"],
    "additionalProperties": False,
}
KIND = "user-model"
"""The ``kind`` of profiles in the hooks ``pre_learn`` and ``pre_read``."""
MAX_MESSAGE_CHARS = 1_000
"""Characters read of one message."""
PERSON_KINDS = frozenset({"operator", "admin", "person"})
"""The kinds of origins of people's messages."""
MIN_NARRATIVE_CHARS = 100
"""Characters that must remain for the narrative beside the kept lines."""
_FENCED = re.compile(r"^```\w*\n(.*)\n```$", re.DOTALL)


class FileEdited(InvalidChange):
    """The file was edited during the request to the model."""


@dataclass(frozen=True, slots=True)
class NewMessages:
    """People's new messages.

    ``seen`` is the number of the session's messages up to here; ``origins`` are the people.
    """

    texts: Sequence[str]
    seen: int
    origins: tuple[Origin, ...]


class Curator:
    """Updates the profile of a session's chat."""

    def __init__(self, host: Host, config: UserModelConfig, profiles: ProfileStore) -> None:
        self._host = host
        self._config = config
        self._profiles = profiles

    async def curate(self, session: Session) -> None:
        """Update the profile from a session's new messages, if needed.

        If the request fails, the same messages are read again next time.
        """
        if session.kind != "chat":
            return
        new = await self._new_messages(session.id)
        if not new.texts:
            return
        chat = Chat.of(session)
        source = await ChangeSource.reviewed(self._host, session)
        try:
            present = await self._profiles.present(chat)
            # The text must pass before it is sent to a model.
            await self._host.read(present.text, file_name(chat), KIND, session_id=session.id)
            narrative = await self._narrative(session.id, present, new.texts)
            if narrative is not None:
                await self._write(chat, source, present, narrative, new.origins)
        except (ProviderError, FileEdited) as error:
            self._host.log.warning("the profile of %s was not updated: %s", chat.label, error)
            return
        except (InvalidChange, Refused) as error:
            self._host.log.warning("the profile of %s was not changed: %s", chat.label, error)
        await self._host.storage.kv.set(_seen(session.id), new.seen)

    async def _new_messages(self, session_id: str) -> NewMessages:
        """Return the person's messages since the last update, oldest first, within the limits."""
        messages = [m for m in await self._host.messages(session_id) if _is_from_person(m)]
        seen = int(await self._host.storage.kv.get(_seen(session_id), 0))
        found: list[str] = []
        people: tuple[Origin, ...] = ()
        room = self._config.signal_chars
        for message in reversed(
            messages[min(seen, len(messages)) :][-self._config.signal_messages :]
        ):
            text, origins = _own_text(message)
            text = text[: min(MAX_MESSAGE_CHARS, room)]
            room -= len(text)
            if not text:
                break
            found.append(text)
            people = merge_origins(people, origins)
        return NewMessages(found[::-1], len(messages), people)

    async def _narrative(
        self, session_id: str, present: StoredProfile, texts: Sequence[str]
    ) -> str | None:
        """Return a new narrative that fits, or None to keep the current one.

        Raises:
            ProviderError: the model could not be asked.
            InvalidChange: no narrative that fits could be written.
        """
        room = self._config.max_chars - len(join_lines(present.profile.kept)) - 1
        if room < MIN_NARRATIVE_CHARS:
            raise InvalidChange("the lines pinned or written by hand leave no room")
        prompt = _prompt(present, texts, room)
        answer = await self._ask(session_id, prompt)
        if answer is None or not _as_written(present, answer) or not _differs(present, answer):
            return None
        if len(_as_written(present, answer)) > room:
            answer = await self._ask(session_id, _shorten_prompt(answer, room))
            if answer is None or not 0 < len(_as_written(present, answer)) <= room:
                raise InvalidChange(f"the model wrote no narrative of at most {room} characters")
        return _as_written(present, answer)

    async def _ask(self, session_id: str, prompt: str) -> str | None:
        """Return the narrative in the model's answer; None for null, blank or invalid answers."""
        max_tokens = self._config.max_chars * 2
        text = await self._host.ask_model(
            prompt,
            system=_text("curate.md"),
            schema=SCHEMA,
            max_tokens=max_tokens,
            session_id=session_id,
        )
        narrative = _narrative_in(text)
        if narrative is None or not narrative.strip():
            return None
        return storable(narrative)

    async def _write(
        self,
        chat: Chat,
        source: ChangeSource,
        asked: StoredProfile,
        narrative: str,
        origins: tuple[Origin, ...],
    ) -> None:
        """Pass the narrative through ``pre_learn`` and write it, unless the file was edited.

        Its origins are the people alone, not what else the session has read.
        """
        session_id = source.session_id
        where = f"user-model, session {session_id}"
        learned = storable(
            await self._host.learn(narrative, where, KIND, session_id=session_id, origins=origins)
        )
        limit = self._config.max_chars

        def make(present: StoredProfile, _versions: Sequence[ProfileVersion]) -> str:
            if present.text != asked.text:
                raise FileEdited("the file was edited meanwhile; the next review tries again")
            new_text = present.profile.with_narrative(learned)
            if len(new_text) > limit or not present.profile.narrative_lines(learned):
                raise InvalidChange("the narrative does not fit after redaction")
            return new_text if _differs(present, learned) else present.text

        await self._profiles.change(chat, source, make)


def _narrative_in(text: str) -> str | None:
    stripped = text.strip()
    fenced = _FENCED.match(stripped)
    try:
        answer: Any = json.loads(fenced[1] if fenced else stripped)
    except (ValueError, RecursionError):
        return None
    narrative = answer.get("narrative") if isinstance(answer, dict) else None
    return narrative if isinstance(narrative, str) else None


def _as_written(present: StoredProfile, narrative: str) -> str:
    """Return the narrative as it would be written to the file."""
    return join_lines(present.profile.narrative_lines(narrative))


def _differs(present: StoredProfile, narrative: str) -> bool:
    return tuple(lines(_as_written(present, narrative))) != present.profile.narrative


def _own_text(message: Message) -> tuple[str, tuple[Origin, ...]]:
    """Return what a person wrote in a message, and who it was.

    Forwarded text, text from outside and text without a known author are left out.
    """
    blocks = [block for block in message.blocks if _is_own(block)]
    text = "\n\n".join(block.text for block in blocks).strip()
    return text, merge_origins(*[block.origins for block in blocks])


def _is_from_person(message: Message) -> bool:
    """True if a person wrote a part of the message."""
    if message.role != "user" or any(isinstance(b, ToolResultBlock) for b in message.blocks):
        return False
    return any(_is_own(block) and not block.text.isspace() for block in message.blocks)


def _is_own(block: Block) -> TypeGuard[TextBlock]:
    if not isinstance(block, TextBlock) or not block.text:
        return False
    kinds = [origin.kind for origin in block.origins]
    return "outside" not in kinds and any(kind in PERSON_KINDS for kind in kinds)


def _prompt(present: StoredProfile, texts: Sequence[str], room: int) -> str:
    narrative = join_lines(present.profile.narrative) or "(none yet)"
    kept = join_lines(present.profile.kept)
    parts = [
        f"Current profile:\n{narrative}",
        *([f"Kept lines:\n{kept}"] if kept else []),
        "New messages:",
        "\n".join(f"<message>{text}</message>" for text in texts),
        f"The narrative may have at most {room} characters.",
    ]
    return "\n\n".join(parts)


def _shorten_prompt(narrative: str, room: int) -> str:
    return f"{_text('shorten.md')}\n\nAt most {room} characters.\n\nThe profile:\n{narrative}"


def _seen(session_id: str) -> str:
    return f"seen:{session_id}"


@cache
def _text(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8").strip()
