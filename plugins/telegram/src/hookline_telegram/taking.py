"""From updates to stored messages: who is meant, files fetched, albums joined, presses answered."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hookline_channelkit import Gone, Media, Take, TooLarge, WireError
from hookline_hookspecs import Access, Attachment, Audio, HooklineError, Host, Inbound

from . import reading
from .api import download, understood
from .reading import CHANNEL, File, Json, Me

if TYPE_CHECKING:
    from telegram import Bot

    from .config import TelegramConfig
    from .moves import Moves
    from .shown import Shown

GIVEN_OUT = 20_000_000
"""Bytes of the largest file that the Bot API gives out (core.telegram.org/bots/api, getFile)."""
TRIES = 3
"""Attempts to fetch a file, a second and then two apart."""
AGAIN = "You have pressed a button here already; nothing was changed."
TOO_OLD = "This message is too old; please write your answer."
REMEMBERED = 256
"""Messages whose senders are still to be told of a file that was not taken."""


class Taker:
    """Stores what updates say. ``problems`` are sentences for the senders of messages whose files
    were not taken, by the message's id: they are told once it is known that they may write."""

    def __init__(
        self, config: TelegramConfig, host: Host, bot: Bot, moves: Moves, shown: Shown
    ) -> None:
        self._config = config
        self._shown = shown
        self._host = host
        self._bot = bot
        self._moves = moves
        self._media = Media(host, CHANNEL, min(config.max_bytes, GIVEN_OUT))
        self._taking: set[asyncio.Future[bool]] = set()
        self.problems: OrderedDict[str, str] = OrderedDict()

    async def store(self, updates: Sequence[Json], me: Me, take: Take) -> None:
        """Store everything, in order within a chat. Raises if something could not be: then all
        has to come again, and what was stored is known by its id."""
        chats: dict[int, list[Json]] = {}
        for update in updates:
            chats.setdefault(reading.chat_of(update), []).append(update)
        work = [self._in_order(of_chat, me, take) for of_chat in chats.values()]
        for failed in await asyncio.gather(*work, return_exceptions=True):
            if failed is not None:
                raise failed

    async def settled(self) -> None:
        """Return when nothing is being stored."""
        if self._taking:
            await asyncio.wait(self._taking)

    async def _in_order(self, updates: Sequence[Json], me: Me, take: Take) -> None:
        for kind, unit in reading.units_of(updates):
            try:
                if kind == "press":
                    inbound = await self._press(unit)
                else:
                    inbound = await self._message(unit, me, is_edit=kind == "edit")
            except HooklineError:
                raise
            except Exception:
                self._host.log.exception("an update cannot be read and is left out")
                continue
            if inbound is not None:
                is_new = await self._take(inbound, take)
                if kind == "press":
                    told = None if is_new else AGAIN
                    self._host.spawn(self._answer(unit["id"], told), "answer a press")
                if kind != "press":
                    last = [unit[-1]["message_id"], _digest(inbound.text)]
                    await self._host.storage.kv.set(f"last:{inbound.chat_id}", last)

    async def _take(self, inbound: Inbound, take: Take) -> bool:
        """Store a message; a cancellation does not stop this half-way, where the message would be
        stored and nobody would answer it."""
        storing = asyncio.ensure_future(take(inbound))
        self._taking.add(storing)
        storing.add_done_callback(self._taking.discard)
        return await asyncio.shield(storing)

    # Messages

    async def _message(self, unit: Sequence[Json], me: Me, *, is_edit: bool) -> Inbound | None:
        first, last = unit[0], unit[-1]
        await self._note_move(first)
        if not reading.is_of_person(first) or not self._is_meant(unit, me):
            return None
        words = [reading.words_of(message, me) for message in unit]
        if None in words:
            return None
        text = "\n\n".join(word for word in words if word)
        chat = await self._moves.name_of(first["chat"]["id"], reading.thread_of(first))
        id_ = f"{last['chat']['id']}:{last['message_id']}"
        if is_edit:
            if not await self._is_news(chat, last, text):
                return None
            id_ += f":e{last.get('edit_date', 0)}"
        files = [file for message in unit if (file := reading.file_of(message)) is not None]
        if files and not await self._may_write(first):
            files, text = [], text or f"({files[0].name})"
        fetched = await asyncio.gather(*[self._fetch(file) for file in files])
        problems = [one for one in fetched if isinstance(one, str)]
        if problems:
            self._remember(id_, "\n".join(problems))
            text = "\n\n".join([*([text] if text else []), *(f"({one})" for one in problems)])
        items = tuple(one for one in fetched if not isinstance(one, str))
        if not text and not items:
            self._host.log.info("a message of a kind that is not understood is left out")
            return None
        answered = first.get("reply_to_message") or {}
        quoted, origin = reading.quoted_in(first, me)
        inbound = self._inbound(chat, id_, text, first, first["from"])
        return replace(
            inbound,
            received=self._shown.received(last, inbound.received),
            attachments=items,
            reply_to=str(answered["message_id"]) if quoted and answered else None,
            quoted=quoted,
            origins=() if origin is None else (origin,),
            forwarded=next(filter(None, map(reading.forwarded_from, unit)), ""),
            addressed=_is_addressed(unit, me),
            kind="edit" if is_edit else "message",
            target=str(last["message_id"]) if is_edit else None,
        )

    def _inbound(self, chat: str, id_: str, text: str, message: Json, author: Json) -> Inbound:
        """What every kind of message tells."""
        thread = reading.thread_of(message)
        return Inbound(
            channel=CHANNEL,
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

    def _is_meant(self, unit: Sequence[Json], me: Me) -> bool:
        return self._config.groups == "always" or _is_addressed(unit, me)

    async def _note_move(self, message: Json) -> None:
        if new := message.get("migrate_to_chat_id"):
            await self._moves.note(int(message["chat"]["id"]), int(new))

    async def _is_news(self, chat: str, message: Json, text: str) -> bool:
        """True for an edit that changes the words of the chat's last message."""
        last = await self._host.storage.kv.get(f"last:{chat}")
        if last is not None and message["message_id"] >= last[0] and _digest(text) != last[1]:
            return True
        self._host.log.info("an edit of a message that is not the chat's last is left out")
        return False

    def _remember(self, id_: str, problem: str) -> None:
        self.problems[id_] = problem
        while len(self.problems) > REMEMBERED:
            self.problems.popitem(last=False)

    # Files

    async def _may_write(self, message: Json) -> bool:
        """False for a person whose message will be refused: nothing of theirs is fetched."""
        access = self._host.services.get(Access)
        known = getattr(access, "may_write", None)
        return known is None or await known(CHANNEL, str(message["from"]["id"]))

    async def _fetch(self, file: File) -> Attachment | Audio | str:
        """The file, saved; or a sentence that says why not."""
        if file.size > self._media.limit:
            return self._too_large(file)
        try:
            data = await self._data(file.id)
            if file.is_sound:
                return await self._media.audio(data, file.seconds)
            return await self._media.attachment(data, file.name)
        except TooLarge:
            return self._too_large(file)
        except (HooklineError, OSError) as error:
            self._host.log.warning("a file could not be fetched: %s", error)
            return f"The file {file.name} could not be fetched. Please send it again."

    async def _data(self, file_id: str) -> bytes:
        for attempt in range(1, TRIES):
            try:
                return await download(self._bot, file_id)
            except Gone:
                raise
            except WireError:
                await asyncio.sleep(attempt)
        return await download(self._bot, file_id)

    def _too_large(self, file: File) -> str:
        size, most = file.size / 1e6, self._media.limit / 1e6
        told = f" ({size:.0f} MB)" if size else ""
        return (
            f"The file {file.name}{told} is too large: a bot takes {most:g} MB at most. Send it in "
            "parts, or as a link."
        )

    # Buttons

    async def _press(self, query: Json) -> Inbound | None:
        """A press stands for the words on the button. The second press of the same person has the
        id of the first, and so does nothing but say so."""
        label = reading.label_of(query)
        if label is None or query["from"].get("is_bot"):
            self._host.spawn(self._answer(query["id"], TOO_OLD), "answer a press")
            return None
        message: Any = query["message"]
        chat = await self._moves.name_of(message["chat"]["id"], reading.thread_of(message))
        number = str(message["message_id"])
        id_ = f"cb:{message['chat']['id']}:{number}:{query['from']['id']}"
        inbound = self._inbound(chat, id_, label, message, query["from"])
        return replace(inbound, sent=0.0, reply_to=number, kind="press", target=number)

    async def _answer(self, press: str, text: str | None) -> None:
        """The person's app stops to wait; if that fails it does so by itself."""
        try:
            with understood():
                await self._bot.answer_callback_query(press, text)
        except HooklineError as error:
            self._host.log.info("a press of a button could not be answered: %s", error)


def _is_addressed(unit: Sequence[Json], me: Me) -> bool:
    """True in the chat with one person, and where the bot is spoken to in a group."""
    return reading.is_private(unit[0]) or any(reading.is_addressed(one, me) for one in unit)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
