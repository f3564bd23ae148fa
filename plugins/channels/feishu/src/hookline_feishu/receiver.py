"""Turns events and chat histories into messages for the agent: who wrote, where, and to whom."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any, Literal

from hookline_channelkit import (
    BoundedDict,
    ChatAliases,
    InboundEvent,
    PrivateChats,
    author_label,
    describe_kind,
    get_in,
    quote_fields,
)
from hookline_hookspecs import HooklineError, Host, Inbound

from . import events
from .api import Api, Json
from .config import FACTS, FeishuConfig

HISTORY_PAGE_SIZE = 50
"""The maximum (open.feishu.cn, im-v1/message/list)."""
CARDS_AS_SENT = {"card_msg_content_type": "user_card_content"}
"""Without this, Feishu returns in place of a card that a newer app is needed to show it
(github.com/larksuite/oapi-sdk-python/issues/95)."""
_RECEIVED = {"im.message.receive_v1": "message", "im.message.updated_v1": "edit"}


class FeishuReceiver:
    """Reads messages, edits, deletions, reactions and presses.

    A private chat that the bot has opened is known by its person (``ou_…``), because it has no id
    before the first message; other chats by their own id (``oc_…``).

    Attributes:
        me: the bot's open id.
        last: the last message of each chat.
    """

    def __init__(self, config: FeishuConfig, host: Host, api: Api) -> None:
        self._is_open, self._api, self._log = config.groups == "always", api, host.log
        self.people, self.moves = PrivateChats(host), ChatAliases(host)
        self._kinds: dict[str, str] = {}
        self._threads: BoundedDict[str, str] = BoundedDict()
        """The message that quoted the first one of each thread."""
        self.me = ""
        self.last: dict[str, str] = {}

    async def parse_event(self, kind: str, event: Json) -> InboundEvent | None:
        """Return what an event means for the agent; None if nothing."""
        if (inbound_kind := _RECEIVED.get(kind)) is not None:
            item = events.message_of(event)
            if chat_type := item.get("chat_type"):
                self._kinds[item["chat_id"]] = str(chat_type)
            return await self.read(item, inbound_kind)
        if kind == "im.message.recalled_v1":
            return await self._about(str(event["message_id"]), "delete")
        if kind == "im.message.reaction.created_v1" and event.get("operator_type") == "user":
            name = str(get_in(event, "reaction_type", "emoji_type"))
            emoji = FACTS["emoji"].get(name, f":{name}:")
            person = str(get_in(event, "user_id", "open_id"))
            return await self._about(str(event["message_id"]), "reaction", person, emoji)
        return None

    async def press(self, event: Json) -> InboundEvent | None:
        """Return a button press; None if it is not in the chat that the button was made for."""
        value, context = event["action"]["value"], event["context"]
        place, target = str(value["chat"]), str(context["open_message_id"])
        name = await self.moves.name_of(context["open_chat_id"])
        if place.partition(":")[0] != name:
            return None
        private = await self.kind_of(name) == "p2p"
        person, number = str(event["operator"]["open_id"]), str(value["n"])
        pressed = Inbound("", place, person, "", number, kind="press", private=private)
        return InboundEvent(replace(pressed, target=target, reply_to=target))

    async def read(self, item: Json, kind: str = "message") -> InboundEvent | None:
        """Return a person's message to the agent; None for other messages."""
        if not events.is_of_person(item):
            return None
        item = {**item, "chat_id": await self.moves.name_of(str(item["chat_id"]))}
        private = await self.kind_of(item["chat_id"]) == "p2p"
        found = events.message_event(item, self.me, private=private)
        if found is None or not (found.inbound.addressed or self._is_open):
            return None
        if found.inbound.kind == "unreadable" and (kind == "edit" or not found.inbound.addressed):
            return None
        if private:
            await self.people.add(found.inbound.user_id, found.inbound.chat_id)
        if kind == "edit":
            found = found.as_edit(str(item.get("update_time") or ""))
        self.last[found.inbound.chat_id] = str(item["message_id"])
        if item.get("msg_type") == "merge_forward":
            return await self._forwarded(found)
        return await self._quoting(found, item)

    async def _forwarded(self, found: InboundEvent) -> InboundEvent:
        """Return a forwarded conversation with its messages, none of which its sender wrote."""
        inbound = found.inbound
        text = self._conversation(await self.message(inbound.message_id)) or inbound.text
        return replace(found, inbound=replace(inbound, text=text, forwarded=author_label("")))

    def _conversation(self, items: Sequence[Json]) -> str:
        """Return the messages of a forwarded conversation, with their authors."""
        inner = [one for one in items if one.get("upper_message_id")]
        return "\n".join(
            f"{author_label('', self._who(one))}: {words}"
            for one in inner
            if (words := events.words_of(one))
        )

    async def _quoting(self, found: InboundEvent, item: Json) -> InboundEvent:
        """Return a message with what it quotes, and the author of that unless known.

        In a thread every message replies to the first; only the first such reply quotes it.
        """
        parent, thread = str(item.get("parent_id") or ""), str(item.get("thread_id") or "")
        if not parent:
            return found
        is_thread = thread and parent == item.get("root_id")
        if is_thread:
            first = self._threads.setdefault(thread, str(item["message_id"]))
            if first != item["message_id"]:
                return found
        try:
            items = await self.message(parent)
        except HooklineError as error:
            self._log.info("cannot read a quoted message: %s", error)
            items = []
        quoted = next((one for one in items if one.get("message_id") == parent), None)
        if quoted is None:
            words = describe_kind("message that cannot be read")
            fields = quote_fields(words, author_label(""), parent)
            return replace(found, inbound=replace(found.inbound, **fields))
        writer = get_in(quoted, "sender", "id")
        if is_thread and writer == found.inbound.user_id:
            return found  # who writes in a thread of their own quotes nothing
        by: Literal["", "agent", "sender"] = ""
        words = events.words_of(quoted)
        if quoted.get("msg_type") == "merge_forward":
            words = self._conversation(items) or words
        elif writer == self._api.app_id:
            by = "agent"
        elif writer == found.inbound.user_id:
            by = "sender"
        label = "" if by else author_label("", self._who(quoted))
        fields = quote_fields(words, label, parent, by=by)
        return replace(found, inbound=replace(found.inbound, **fields))

    @staticmethod
    def _who(item: Json) -> str:
        return f"feishu:{get_in(item, 'sender', 'id')}"

    async def _about(
        self, message: str, kind: Any, person: str = "", emoji: str = ""
    ) -> InboundEvent | None:
        """Return a deletion of a person's message, or a reaction to the bot's."""
        for item in await self.message(message):
            writer = str(get_in(item, "sender", "id"))
            if (writer == self._api.app_id) == (kind == "reaction"):
                item["chat_id"] = await self.moves.name_of(item["chat_id"])
                chat, who = events.place_of(item), person or writer
                id_ = f"{message}:{who}:{emoji}" if emoji else ""
                private = await self.kind_of(item["chat_id"]) == "p2p"
                return InboundEvent(
                    Inbound("", chat, who, id_, emoji, kind=kind, target=message, private=private)
                )
        return None

    async def message(self, id_: str) -> list[Json]:
        """Fetch a message; deleted ones are included."""
        found = await self._api.ask("GET", f"/im/v1/messages/{id_}", params=CARDS_AS_SENT)
        return list(found.get("items") or ())

    async def kind_of(self, chat: str) -> str:
        """Return the kind of a chat: ``p2p``, ``group`` or ``topic``."""
        if chat.startswith("ou_"):
            return "p2p"
        if chat not in self._kinds:
            data = await self._api.ask("GET", f"/im/v1/chats/{chat}")
            self._kinds[chat] = str(data.get("chat_mode") or "group")
        return self._kinds[chat]

    # History

    async def history(self, chat: str, after: str, since: float) -> AsyncIterator[InboundEvent]:
        """Yield a chat's messages after ``after``, and those of recent threads."""
        missed = await self._missed(chat, int(after) if after else int(since * 1000))
        for item in sorted(missed.values(), key=lambda one: int(one["create_time"])):
            if (found := await self.read(item)) is not None:
                yield InboundEvent(found.inbound, found.files, found.cursor, source=chat)

    async def _missed(self, chat: str, begin: int) -> dict[str, Json]:
        """Return messages by id, from ``begin`` (milliseconds) on."""
        place, thread = await self.split(chat)
        items = [one async for one in self.items(chat, begin)]
        if not thread:
            newest = {
                "container_id_type": "chat",
                "container_id": place,
                "page_size": str(HISTORY_PAGE_SIZE),
            }
            newest |= {"sort_type": "ByCreateTimeDesc"}
            recent = (await self._api.ask("GET", "/im/v1/messages", params=newest)).get("items")
            names = {str(one.get("thread_id") or "") for one in [*items, *(recent or ())]} - {""}
            for name in sorted(names):
                items += [one async for one in self.items(f"{place}:{name}", begin)]
        return {str(one["message_id"]): one for one in items}

    async def items(self, chat: str, begin: int) -> AsyncIterator[Json]:
        """Yield messages from ``begin`` (milliseconds) on.

        Threads cannot be searched by time and are read from their end.
        """
        place, thread = await self.split(chat)
        query = {"container_id_type": "thread", "sort_type": "ByCreateTimeDesc"}
        if not thread:
            query = {"container_id_type": "chat", "sort_type": "ByCreateTimeAsc"}
            query |= {"start_time": str(begin // 1000)}
        query |= {"container_id": thread or place, "page_size": str(HISTORY_PAGE_SIZE)}
        query |= CARDS_AS_SENT
        async for one in self.pages("/im/v1/messages", **query):
            if int(one["create_time"]) >= begin:
                yield one
            elif thread:
                return

    async def split(self, chat: str) -> tuple[str, str]:
        """Return the platform's id of a chat, or a person's before there is one; and the thread."""
        place, _, thread = chat.partition(":")
        return await self.moves.id_of(place), thread

    async def pages(self, path: str, **query: str) -> AsyncIterator[Json]:
        """Yield the items of all pages."""
        while True:
            data = await self._api.ask("GET", path, params=query)
            for one in data.get("items") or ():
                yield one
            if not data.get("has_more") or not data.get("page_token"):
                return
            query["page_token"] = data["page_token"]
