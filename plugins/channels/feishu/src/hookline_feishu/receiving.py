"""From events and from what chats keep to arrivals: whose they are, where, and for whom."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

from hookline_channelkit import (
    ChatAliases,
    InboundEvent,
    PrivateChats,
    author_label,
    get_in,
    quote_fields,
)
from hookline_hookspecs import HooklineError, Host, Inbound

from . import reading
from .api import Api, Json
from .config import FACTS, FeishuConfig

PAGE = 50
"""Messages of a page of history, at most (open.feishu.cn, im-v1/message/list)."""
_RECEIVED = {"im.message.receive_v1": "message", "im.message.updated_v1": "edit"}


class Receiving:
    """Reads what people do. ``me`` is the bot's open id, ``last`` the last message of each chat.

    A private chat that the bot has begun is named by its person (``ou_…``), for nothing else is
    known of it before the first message; any other chat by its own id (``oc_…``).
    """

    def __init__(self, config: FeishuConfig, host: Host, api: Api) -> None:
        self._is_open, self._api = config.groups == "always", api
        self.people, self.moves = PrivateChats(host), ChatAliases(host)
        self._kinds: dict[str, str] = {}
        self.me = ""
        self.last: dict[str, str] = {}

    async def arrival(self, kind: str, event: Json) -> InboundEvent | None:
        """What an event tells; None if it is nothing for the agent."""
        if (what := _RECEIVED.get(kind)) is not None:
            item = reading.message_of(event)
            if kind_of_chat := item.get("chat_type"):
                self._kinds[item["chat_id"]] = str(kind_of_chat)
            return await self.read(item, what)
        if kind == "im.message.recalled_v1":
            return await self._about(str(event["message_id"]), "delete")
        if kind == "im.message.reaction.created_v1" and event.get("operator_type") == "user":
            name = str(get_in(event, "reaction_type", "emoji_type"))
            emoji = FACTS["emoji"].get(name, f":{name}:")
            person = str(get_in(event, "user_id", "open_id"))
            return await self._about(str(event["message_id"]), "reaction", person, emoji)
        return None

    async def press(self, event: Json) -> InboundEvent | None:
        """A press of a button, if it is in the chat that the button was made for."""
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
        """A message of a person that is meant for the agent."""
        if not reading.is_of_person(item):
            return None
        item = {**item, "chat_id": await self.moves.name_of(str(item["chat_id"]))}
        private = await self.kind_of(item["chat_id"]) == "p2p"
        found = reading.arrival_of(item, self.me, private=private)
        if found is None or not (found.inbound.addressed or self._is_open):
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
        """A merged conversation, with its words: none of them is its sender's."""
        inbound, lines = found.inbound, []
        for one in await self.message(inbound.message_id):
            if one.get("upper_message_id") and (words := reading.words_of(one)):
                lines.append(f"{author_label('', self._who(one))}: {words}")
        text = "\n".join(lines) or inbound.text
        return replace(found, inbound=replace(inbound, text=text, forwarded=author_label("")))

    async def _quoting(self, found: InboundEvent, item: Json) -> InboundEvent:
        """With what it quotes; of another person's words, whose they are."""
        parent = str(item.get("parent_id") or "")
        if not parent or (item.get("thread_id") and parent == item.get("root_id")):
            return found
        try:
            (quoted,) = [o for o in await self.message(parent) if o.get("message_id") == parent]
        except (HooklineError, ValueError):
            return found
        is_known = get_in(quoted, "sender", "id") in (self._api.app_id, found.inbound.user_id)
        writer = "" if is_known else author_label("", self._who(quoted))
        told = quote_fields(reading.words_of(quoted), writer, parent)
        return replace(found, inbound=replace(found.inbound, **told))

    @staticmethod
    def _who(item: Json) -> str:
        return f"feishu:{get_in(item, 'sender', 'id')}"

    async def _about(
        self, message: str, kind: Any, person: str = "", emoji: str = ""
    ) -> InboundEvent | None:
        """What was done to a message: taken back by its writer, or reacted to if the bot's."""
        for item in await self.message(message):
            writer = str(get_in(item, "sender", "id"))
            if (writer == self._api.app_id) == (kind == "reaction"):
                item["chat_id"] = await self.moves.name_of(item["chat_id"])
                chat, who = reading.place_of(item), person or writer
                id_ = f"{message}:{who}:{emoji}" if emoji else ""
                private = await self.kind_of(item["chat_id"]) == "p2p"
                return InboundEvent(
                    Inbound("", chat, who, id_, emoji, kind=kind, target=message, private=private)
                )
        return None

    async def message(self, id_: str) -> list[Json]:
        """A message, also one that was taken back."""
        return list((await self._api.ask("GET", f"/im/v1/messages/{id_}")).get("items") or ())

    async def kind_of(self, chat: str) -> str:
        """``p2p``, ``group`` or ``topic``."""
        if chat.startswith("ou_"):
            return "p2p"
        if chat not in self._kinds:
            told = await self._api.ask("GET", f"/im/v1/chats/{chat}")
            self._kinds[chat] = str(told.get("chat_mode") or "group")
        return self._kinds[chat]

    # What was missed

    async def history(self, chat: str, after: str, since: float) -> AsyncIterator[InboundEvent]:
        """A chat's messages behind ``after``, and those of threads that began lately."""
        missed = await self._missed(chat, int(after) if after else int(since * 1000))
        for item in sorted(missed.values(), key=lambda one: int(one["create_time"])):
            if (found := await self.read(item)) is not None:
                yield InboundEvent(found.inbound, found.files, found.cursor, source=chat)

    async def _missed(self, chat: str, begin: int) -> dict[str, Json]:
        """Messages by id, from ``begin`` on."""
        place, thread = await self.split(chat)
        items = [one async for one in self.items(chat, begin)]
        if not thread:
            newest = {"container_id_type": "chat", "container_id": place, "page_size": str(PAGE)}
            newest |= {"sort_type": "ByCreateTimeDesc"}
            recent = (await self._api.ask("GET", "/im/v1/messages", params=newest)).get("items")
            names = {str(one.get("thread_id") or "") for one in [*items, *(recent or ())]} - {""}
            for name in sorted(names):
                items += [one async for one in self.items(f"{place}:{name}", begin)]
        return {str(one["message_id"]): one for one in items}

    async def items(self, chat: str, begin: int) -> AsyncIterator[Json]:
        """From ``begin`` on, in milliseconds; threads cannot be searched by time, and are read
        from their end."""
        place, thread = await self.split(chat)
        query = {"container_id_type": "thread", "sort_type": "ByCreateTimeDesc"}
        if not thread:
            query = {"container_id_type": "chat", "sort_type": "ByCreateTimeAsc"}
            query |= {"start_time": str(begin // 1000)}
        query |= {"container_id": thread or place, "page_size": str(PAGE)}
        async for one in self.pages("/im/v1/messages", **query):
            if int(one["create_time"]) >= begin:
                yield one
            elif thread:
                return

    async def split(self, chat: str) -> tuple[str, str]:
        """The platform's id of a chat, a person's where there is no chat yet; and the thread."""
        place, _, thread = chat.partition(":")
        return await self.moves.id_of(place), thread

    async def pages(self, path: str, **query: str) -> AsyncIterator[Json]:
        """The items of all pages."""
        while True:
            data = await self._api.ask("GET", path, params=query)
            for one in data.get("items") or ():
                yield one
            if not data.get("has_more") or not data.get("page_token"):
                return
            query["page_token"] = data["page_token"]
