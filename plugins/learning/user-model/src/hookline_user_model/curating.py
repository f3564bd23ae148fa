"""Curation: has the auxiliary model update a portrait from the person's new messages.

A bad answer never damages the portrait: one that is not JSON, null, blank or unchanged changes
nothing; one that is too long is sent back once to be shortened; what a person pinned or wrote is
kept word for word.
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
from .portrait import joined, lines
from .userfile import Complaint, name_of
from .versions import Portraits, Present, Source, Version

SCHEMA = {
    "type": "object",
    "properties": {"narrative": {"type": ["string", "null"]}},
    "required": ["narrative"],
    "additionalProperties": False,
}
KIND = "user-model"
"""The kind under which portraits pass the gates ``pre_learn`` and ``pre_read``."""
MESSAGE_CHARS = 1_000
"""Characters of one message that are read."""
PEOPLE = frozenset({"operator", "admin", "person"})
"""The kinds of origins of what people write."""
LEAST_ROOM = 100
"""Characters that must remain for a narrative besides the kept lines."""
_FENCED = re.compile(r"^```\w*\n(.*)\n```$", re.DOTALL)


class Edited(Complaint):
    """The file was changed while the model was being asked."""


@dataclass(frozen=True, slots=True)
class Signal:
    """People's new messages; ``seen`` counts all messages of the session up to here, ``origins``
    are the people."""

    texts: Sequence[str]
    seen: int
    origins: tuple[Origin, ...]


class Curator:
    """Curates the portrait of the chat of a session."""

    def __init__(self, host: Host, config: UserModelConfig, portraits: Portraits) -> None:
        self._host = host
        self._config = config
        self._portraits = portraits

    async def curate(self, session: Session) -> None:
        """Read what is new in a session and update the portrait if needed.

        If the model cannot be asked, the same messages are read again next time.
        """
        if session.kind != "chat":
            return
        signal = await self._signal(session.id)
        if not signal.texts:
            return
        chat = Chat.of(session)
        source = await Source.reviewed(self._host, session)
        try:
            present = await self._portraits.present(chat)
            # A model is about to see it.
            await self._host.read(present.text, name_of(chat), KIND, session_id=session.id)
            narrative = await self._narrative(session.id, present, signal.texts)
            if narrative is not None:
                await self._write(chat, source, present, narrative, signal.origins)
        except (ProviderError, Edited) as error:
            self._host.log.warning("the user model of %s was not looked at: %s", chat.label, error)
            return
        except (Complaint, Refused) as error:
            self._host.log.warning("the user model of %s stays as it is: %s", chat.label, error)
        await self._host.storage.kv.set(_seen(session.id), signal.seen)

    async def _signal(self, session_id: str) -> Signal:
        """Return the person's messages since the last time, oldest first, within the limits."""
        said = [m for m in await self._host.messages(session_id) if _is_from_person(m)]
        seen = int(await self._host.storage.kv.get(_seen(session_id), 0))
        found: list[str] = []
        people: tuple[Origin, ...] = ()
        room = self._config.signal_chars
        for message in reversed(said[min(seen, len(said)) :][-self._config.signal_messages :]):
            text, origins = _words(message)
            text = text[: min(MESSAGE_CHARS, room)]
            room -= len(text)
            if not text:
                break
            found.append(text)
            people = merge_origins(people, origins)
        return Signal(found[::-1], len(said), people)

    async def _narrative(
        self, session_id: str, present: Present, texts: Sequence[str]
    ) -> str | None:
        """Return a new narrative that fits; None to keep the current one. Raises ``ProviderError``;
        ``Complaint`` if none that fits could be made.
        """
        room = self._config.max_chars - len(joined(present.portrait.kept)) - 1
        if room < LEAST_ROOM:
            raise Complaint("the lines that were pinned or written by hand take all its room")
        prompt = _prompt(present, texts, room)
        answer = await self._ask(session_id, prompt)
        if answer is None or not _shown(present, answer) or not _differs(present, answer):
            return None
        if len(_shown(present, answer)) > room:
            answer = await self._ask(session_id, _shortening(answer, room))
            if answer is None or not 0 < len(_shown(present, answer)) <= room:
                raise Complaint(f"no narrative of at most {room} characters was written")
        return _shown(present, answer)

    async def _ask(self, session_id: str, prompt: str) -> str | None:
        """Return the narrative in the model's answer; None for null, a blank one, or no answer."""
        most = self._config.max_chars * 2
        text = await self._host.ask_model(
            prompt, system=_text("curate.md"), schema=SCHEMA, max_tokens=most, session_id=session_id
        )
        narrative = _narrative_in(text)
        if narrative is None or not narrative.strip():
            return None
        return storable(narrative)

    async def _write(
        self,
        chat: Chat,
        source: Source,
        asked: Present,
        narrative: str,
        origins: tuple[Origin, ...],
    ) -> None:
        """Pass the narrative through ``pre_learn`` and write it, unless the file has changed.

        It was made from what people said alone, whatever else their session has read.
        """
        session_id = source.session_id
        where = f"user-model, session {session_id}"
        learnt = storable(
            await self._host.learn(narrative, where, KIND, session_id=session_id, origins=origins)
        )
        limit = self._config.max_chars

        def make(present: Present, _past: Sequence[Version]) -> str:
            if present.text != asked.text:
                raise Edited("it was edited meanwhile; the next review looks at it again")
            made = present.portrait.telling(learnt)
            if len(made) > limit or not present.portrait.told(learnt):
                raise Complaint("what is left of the narrative after redaction does not fit")
            return made if _differs(present, learnt) else present.text

        await self._portraits.change(chat, source, make)


def _narrative_in(text: str) -> str | None:
    stripped = text.strip()
    fenced = _FENCED.match(stripped)
    try:
        answer: Any = json.loads(fenced[1] if fenced else stripped)
    except (ValueError, RecursionError):
        return None
    narrative = answer.get("narrative") if isinstance(answer, dict) else None
    return narrative if isinstance(narrative, str) else None


def _shown(present: Present, narrative: str) -> str:
    """Return the narrative as it would be written."""
    return joined(present.portrait.told(narrative))


def _differs(present: Present, narrative: str) -> bool:
    return tuple(lines(_shown(present, narrative))) != present.portrait.narrative


def _words(message: Message) -> tuple[str, tuple[Origin, ...]]:
    """Return what a person wrote in a message, and who it was.

    What was forwarded, came with an attachment from outside or was written by nobody known is left
    out.
    """
    blocks = [block for block in message.blocks if _is_own(block)]
    text = "\n\n".join(block.text for block in blocks).strip()
    return text, merge_origins(*[block.origins for block in blocks])


def _is_from_person(message: Message) -> bool:
    """Return whether a person wrote some of a message."""
    if message.role != "user" or any(isinstance(b, ToolResultBlock) for b in message.blocks):
        return False
    return any(_is_own(block) and not block.text.isspace() for block in message.blocks)


def _is_own(block: Block) -> TypeGuard[TextBlock]:
    if not isinstance(block, TextBlock) or not block.text:
        return False
    kinds = [origin.kind for origin in block.origins]
    return "outside" not in kinds and any(kind in PEOPLE for kind in kinds)


def _prompt(present: Present, texts: Sequence[str], room: int) -> str:
    narrative = joined(present.portrait.narrative) or "(none yet)"
    kept = joined(present.portrait.kept)
    parts = [
        f"Present portrait:\n{narrative}",
        *([f"Kept, as it is:\n{kept}"] if kept else []),
        "What the person has written since:",
        "\n".join(f"<message>{text}</message>" for text in texts),
        f"The narrative may have at most {room} characters.",
    ]
    return "\n\n".join(parts)


def _shortening(narrative: str, room: int) -> str:
    return f"{_text('shorten.md')}\n\nAt most {room} characters.\n\nThe portrait:\n{narrative}"


def _seen(session_id: str) -> str:
    return f"seen:{session_id}"


@cache
def _text(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8").strip()
