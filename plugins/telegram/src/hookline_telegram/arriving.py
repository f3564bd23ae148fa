"""From updates to arrivals: who is meant, albums as one message, presses answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hookline_channelkit import PRESSED, TOO_OLD, Arrival, Take
from hookline_hookspecs import HooklineError, Host, Inbound

from . import reading
from .api import understood
from .reading import Json, Me

if TYPE_CHECKING:
    from telegram import Bot

    from .config import TelegramConfig
    from .moves import Moves
    from .shown import Shown


class Arriving:
    """Hands over what updates say."""

    def __init__(
        self, config: TelegramConfig, host: Host, bot: Bot, moves: Moves, shown: Shown
    ) -> None:
        self._config, self._host, self._bot = config, host, bot
        self._moves, self._shown = moves, shown

    async def store(self, updates: Sequence[Json], me: Me, take: Take) -> None:
        """Store the updates of one chat, in order. Raises what ``take`` raises."""
        for kind, unit in reading.units_of(updates):
            try:
                if kind == "press":
                    found = await self._press(unit)
                else:
                    found = await self._message(unit, me, is_edit=kind == "edit")
            except HooklineError:
                raise
            except Exception:
                self._host.log.exception("an update cannot be read and is left out")
                continue
            if found is not None:
                is_new = await take(found)
                if kind == "press":
                    self._answer(unit["id"], None if is_new else PRESSED)

    async def _message(self, unit: Sequence[Json], me: Me, *, is_edit: bool) -> Arrival | None:
        first, last = unit[0], unit[-1]
        if new := first.get("migrate_to_chat_id"):
            await self._moves.note(int(first["chat"]["id"]), int(new))
        is_addressed = reading.is_private(first) or any(
            reading.is_addressed(one, me) for one in unit
        )
        is_meant = is_addressed or self._config.groups == "always"
        words = [reading.words_of(message, me) for message in unit]
        if not is_meant or not reading.is_of_person(first) or None in words:
            return None
        text = "\n\n".join(word for word in words if word)
        files = tuple(file for one in unit if (file := reading.file_of(one)) is not None)
        if not text and not files:
            self._host.log.info("a message of a kind that is not understood is left out")
            return None
        id_ = f"{last['chat']['id']}:{last['message_id']}"
        answered = first.get("reply_to_message") or {}
        quoted, origin = reading.quoted_in(first, me)
        inbound = await self._inbound("" if is_edit else id_, text, first, first["from"])
        inbound = replace(
            inbound,
            received=self._shown.received(last, inbound.received),
            reply_to=str(answered["message_id"]) if quoted and answered else None,
            quoted=quoted,
            origins=() if origin is None else (origin,),
            forwarded=next(filter(None, map(reading.forwarded_from, unit)), ""),
            addressed=is_addressed,
            kind="edit" if is_edit else "message",
            target=id_ if is_edit else None,
        )
        return Arrival(inbound, files)

    async def _press(self, query: Json) -> Arrival | None:
        """A press says the number of the button."""
        message: Any = query.get("message") or {}
        if "reply_markup" not in message or query["from"].get("is_bot"):
            self._answer(query["id"], TOO_OLD)
            return None
        inbound = await self._inbound("", str(query.get("data")), message, query["from"])
        number = str(message["message_id"])
        return Arrival(replace(inbound, sent=0.0, reply_to=number, kind="press", target=number))

    async def _inbound(self, id_: str, text: str, message: Json, author: Json) -> Inbound:
        """What every kind of message tells."""
        thread = reading.thread_of(message)
        chat = await self._moves.name_of(message["chat"]["id"], thread)
        return Inbound(
            channel=self._host.plugin,
            chat_id=chat,
            user_id=str(author["id"]),
            message_id=id_,
            text=text,
            received=self._host.now(),
            private=reading.is_private(message),
            thread=None if thread is None else str(thread),
            parent=None if thread is None else chat.partition(":")[0],
            sender=reading.sender_of(author),
            sent=float(message.get("date") or 0),
        )

    def _answer(self, press: str, text: str | None) -> None:
        """The person's app stops to wait; if that fails it does so by itself."""

        async def answer() -> None:
            try:
                with understood():
                    await self._bot.answer_callback_query(press, text)
            except HooklineError as error:
                self._host.log.info("a press of a button could not be answered: %s", error)

        self._host.spawn(answer(), "answer a press")
