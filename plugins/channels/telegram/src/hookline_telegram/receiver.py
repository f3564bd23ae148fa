"""Polls for updates and decides which are for the bot.

Updates are confirmed to Telegram only after they are stored.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hookline_channelkit import (
    PRESS_REPLIES,
    ChatAliases,
    InboundEvent,
    PasteLimit,
    PlatformError,
    ReceiveCallback,
    SplitTexts,
    receive_event,
    utf16,
)
from hookline_channelkit.pastes import MAX_PASTE_SECONDS, PASTE_PAUSE
from hookline_hookspecs import HooklineError, Host, Inbound

from . import events
from .api import Api, Conflict
from .events import BotAccount, Json
from .kinds import unreadable_in

if TYPE_CHECKING:
    from .config import TelegramConfig

REQUEST_SLACK = 5.0
"""Seconds after which a request for updates counts as dead, beyond its own timeout."""
UPDATES = ["message", "edited_message", "callback_query"]
ALBUM_PAUSE = 0.5
"""Seconds to wait for further pictures of an album; each is its own update."""
MAX_PART_POLLS = 8
"""How often further pictures of an album or parts of a text are waited for."""
PASTES = PasteLimit(most=4096, least=2048, length=utf16)
"""Apps split a longer text; Telegram Desktop does so after a line or a sentence in its second half
(github.com/telegramdesktop/tdesktop, ``TextUtilities::CutPart``)."""
UPDATE_PAGE = 100
"""Updates in one answer (core.telegram.org/bots/api, getUpdates)."""


class TelegramReceiver:
    """Polls for updates. ``offset`` is the id of the first update that is not stored."""

    def __init__(self, config: TelegramConfig, host: Host, api: Api, moves: ChatAliases) -> None:
        self._config, self._host, self._api, self._moves = config, host, api, moves
        self._me: BotAccount | None = None
        self.offset = 0

    async def receive_once(self, receive: ReceiveCallback) -> None:
        """Fetch updates once and store them, in order within a chat.

        If one could not be stored, all are fetched again, and stored ones are recognized by id.
        """
        me = self._me = self._me or BotAccount.of(await self._api.ask("GetMe"))
        found = await self._updates(self._config.poll_seconds)
        receive.heartbeat()
        if not found:
            return
        chats: dict[int, list[Json]] = {}
        for update in (updates := await self._whole_messages(found)):
            chats.setdefault(events.chat_of(update), []).append(update)
        work = [self._store(of_chat, me, receive) for of_chat in chats.values()]
        for failed in await asyncio.gather(*work, return_exceptions=True):
            if failed is not None:
                raise failed
        self.offset = max(int(update["update_id"]) for update in updates) + 1

    async def _updates(self, seconds: int) -> Sequence[Json]:
        asked: Any = {"offset": self.offset, "timeout": seconds, "allowed_updates": UPDATES}
        try:
            async with asyncio.timeout(seconds + 2 * REQUEST_SLACK):
                found: Sequence[Json] = await self._api.ask(
                    "GetUpdates", seconds=seconds + REQUEST_SLACK, **asked
                )
                return found
        except Conflict as error:
            if "webhook" in str(error):
                await self._api.ask("DeleteWebhook", drop_pending_updates=False)
            reason = f"another process is polling this bot; stop it first ({error})"
            raise PlatformError(reason) from None

    async def _whole_messages(self, updates: Sequence[Json]) -> Sequence[Json]:
        """Fetch the same updates again while an album or a split text at their end grows."""
        for _ in range(MAX_PART_POLLS):
            last = {events.writer_of(update): update for update in updates}
            pauses = [_pause_after(update.get("message") or {}) for update in last.values()]
            if not max(pauses):
                break
            if len(updates) >= UPDATE_PAGE:
                return _up_to_unfinished(updates)
            await asyncio.sleep(max(pauses))
            more = await self._updates(0)
            if len(more) <= len(updates):
                break
            updates = more
        return updates

    async def _store(
        self, updates: Sequence[Json], me: BotAccount, receive: ReceiveCallback
    ) -> None:
        """Store the updates of a chat in their order; the parts of a text where it begins."""
        texts, found = SplitTexts(PASTES), list[Json | list[InboundEvent]]()
        for kind, unit in events.units_of(updates):
            if kind == "press":
                found.append(unit)
                continue
            event = await self._parsed(unit, me, kind)
            # The rest of a text belongs to it, also where it does not mention the bot itself.
            if event is not None and not texts.extend(event) and self._is_meant(event):
                found.append(texts.begin(event))
        for one in found:
            if isinstance(one, list):
                await receive(PASTES.join(one))
            else:
                is_new = await receive_event(receive, self._press(one), self._host.log)
                self._answer(one, PRESS_REPLIES[is_new])

    async def _parsed(self, unit: Sequence[Json], me: BotAccount, kind: str) -> InboundEvent | None:
        """Return a person's message; None without one, or if it cannot be parsed."""
        try:
            return await self._message(unit, me, kind)
        except HooklineError:
            raise
        except Exception:
            self._host.log.exception("dropped a message that could not be parsed")
            return None

    def _is_meant(self, found: InboundEvent) -> bool:
        """Whether a message is for the agent; one that nobody can read only if it is addressed."""
        is_open = self._config.groups == "always" and found.inbound.kind != "unreadable"
        return found.inbound.addressed or is_open

    async def _message(
        self, unit: Sequence[Json], me: BotAccount, kind: str
    ) -> InboundEvent | None:
        """Return a person's message, for the agent or not."""
        first, last = unit[0], unit[-1]
        if new := first.get("migrate_to_chat_id"):
            await self._moves.add(str(first["chat"]["id"]), str(new))
        words = [events.words_of(message, me) for message in unit]
        if not events.is_of_person(first) or None in words:
            return None
        text = "\n\n".join(word for word in words if word)
        files = tuple(file for one in unit if (file := events.file_of(one)) is not None)
        inbound = replace(
            await self._inbound(text, first, first["from"]),
            message_id=f"{last['chat']['id']}:{last['message_id']}",
            forwarded=next(filter(None, map(events.forwarded_from, unit)), ""),
            addressed=any(events.is_addressed(one, me) for one in unit),
            **events.quoted_in(first, me),
        )
        raw = str(first.get("text") or "")
        found = InboundEvent(inbound, files, cursor=str(last["message_id"]), raw=raw)
        if not text and not files:
            return _without_content(found, first, kind)
        return found.as_edit(str(last.get("edit_date", ""))) if kind == "edit" else found

    async def _press(self, query: Json) -> InboundEvent | None:
        """Return a button press with the button's number; None if its message is gone."""
        message: Any = query.get("message") or {}
        if "reply_markup" not in message or query["from"].get("is_bot"):
            return None
        inbound = await self._inbound(str(query.get("data")), message, query["from"])
        number = str(message["message_id"])
        return InboundEvent(
            replace(inbound, sent=0.0, reply_to=number, kind="press", target=number)
        )

    async def _inbound(self, text: str, message: Json, author: Json) -> Inbound:
        """Return the fields that all kinds of messages have."""
        thread = events.thread_of(message)
        chat = await self._moves.name_of(str(message["chat"]["id"]))
        return Inbound(
            channel=self._host.plugin,
            chat_id=chat if thread is None else f"{chat}:{thread}",
            user_id=str(author["id"]),
            message_id="",
            text=text,
            private=events.is_private(message),
            thread=thread,
            parent=None if thread is None else chat,
            sender=events.sender_of(author),
            sent=float(message.get("date") or 0),
        )

    def _answer(self, press: Json, text: str | None) -> None:
        """End the wait indicator of a pressed button; if this fails, it ends by itself."""

        async def answer() -> None:
            try:
                id_ = press["id"]
                await self._api.ask("AnswerCallbackQuery", callback_query_id=id_, text=text)
            except (HooklineError, KeyError) as error:
                self._host.log.info("cannot answer a button press: %s", error)

        self._host.spawn(answer(), "answer a press")


def _pause_after(message: Json) -> float:
    """Return how long to wait for what may belong to a message, in seconds."""
    if "media_group_id" in message:
        return ALBUM_PAUSE
    return PASTE_PAUSE if utf16(str(message.get("text") or "")) >= PASTES.least else 0.0


def _up_to_unfinished(updates: Sequence[Json]) -> Sequence[Json]:
    """Return the updates of a full page before an album or text that goes on on the next page."""
    newest = max(events.sent_at(update) for update in updates)
    recent = [events.sent_at(update) >= newest - MAX_PASTE_SECONDS for update in updates]
    last = {events.writer_of(update): number for number, update in enumerate(updates)}
    unfinished = {
        writer
        for writer, number in last.items()
        if recent[number] and _pause_after(updates[number].get("message") or {})
    }
    begin = next(
        (
            number
            for number, update in enumerate(updates)
            if recent[number] and events.writer_of(update) in unfinished
        ),
        0,
    )
    return updates[:begin] or updates


def _without_content(found: InboundEvent, message: Json, kind: str) -> InboundEvent | None:
    """Return a message without a text or file; None if nobody wrote it, as of a new title.

    Words that only mention the bot are about what they reply to.
    """
    if message.get("text") and kind == "message":
        return replace(found, inbound=replace(found.inbound, text="(you were mentioned)"))
    what = unreadable_in(message)
    return None if what is None or kind == "edit" else found.as_unreadable(what)
