"""Decides which messages are for the bot, and adds their senders' names."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import TypeAlias

from hookline_channelkit import (
    BoundedDict,
    EarlierMessage,
    HourlyLimit,
    InboundEvent,
    author_label,
    earlier_fields,
    get_in,
)
from hookline_hookspecs import HooklineError, Host, Inbound

from . import events
from .config import Json, SlackConfig
from .contents import content_of

THREAD_PREFIX = "thread:"
"""Key prefix, in the plugin's key-value storage, for the ``ts`` of the first message to the bot in
a thread."""
THREAD_SECONDS = 1.5
"""Seconds for reading a thread: Slack waits 3 s for the acknowledgement of the message."""
NAME_SECONDS = 0.5
"""Seconds for looking up names, all at once; an id tells people apart too."""
UNFURL_SECONDS = 0.8
"""Seconds in which Slack usually follows a link to one of its messages."""
THREAD_UNREAD = "Not all messages of this thread before this one could be read: {}."
ReadThread: TypeAlias = Callable[[str, str, str], AsyncIterator[Json]]
"""Yields the messages of a thread up to a ``ts``, given channel, thread and ``ts``."""


class SlackReceiver:
    """Knows the bot's id, people's names, and the threads that the bot takes part in.

    Attributes:
        team: the workspace's id, once :meth:`bot_id` was called.
        writers: the last writer of each chat.
    """

    def __init__(
        self,
        config: SlackConfig,
        host: Host,
        ask: Callable[..., Awaitable[Json]],
        read_thread: ReadThread,
    ) -> None:
        self._config, self._host, self._ask = config, host, ask
        self._read_thread = read_thread
        self._me = self.team = ""
        self.writers: BoundedDict[str, str] = BoundedDict()
        self._names: BoundedDict[str, str] = BoundedDict()
        self._firsts: BoundedDict[str, str | None] = BoundedDict()
        """The ``ts`` of the first message to the bot, by thread."""
        self._unfurls: BoundedDict[str, asyncio.Future[list[Json]]] = BoundedDict()
        """What Slack finds behind the links of a message, by its id."""
        self._bots = HourlyLimit(config.bot_messages)

    async def bot_id(self) -> str:
        """Return the bot's own id."""
        if not self._me:
            me = await self._ask("auth_test")
            self._me, self.team = str(me["user_id"]), str(me["team_id"])
        return self._me

    async def unfurled(self, event: Json) -> Json:
        """Return a message to the bot with the messages to which its links lead.

        Slack follows links a moment later, and reports that as a change of the message.
        """
        is_linking = events.has_permalink(event)
        if not is_linking or not await self.is_meant(event, events.message(event, self._me)):
            return event
        waiter = self._unfurling(f"{event['channel']}:{event['ts']}")
        await asyncio.wait({waiter}, timeout=UNFURL_SECONDS)
        return {**event, "attachments": waiter.result()} if waiter.done() else event

    def note_unfurled(self, payload: Json) -> None:
        """Note the messages to which links in a message lead, for :meth:`unfurled`."""
        if found := events.unfurled(payload):
            waiter = self._unfurling(found[0])
            if not waiter.done():
                waiter.set_result(found[1])

    def _unfurling(self, message: str) -> asyncio.Future[list[Json]]:
        if message not in self._unfurls:
            self._unfurls[message] = asyncio.get_running_loop().create_future()
        return self._unfurls[message]

    async def parse_message(self, event: Json) -> InboundEvent | None:
        """Return a message, live or of a history, if it is for the bot; else None."""
        found = events.message(event, await self.bot_id())
        if not await self.is_meant(event, found) or await self._is_answered(event, found):
            return None
        inbound = found.inbound
        self.writers[inbound.chat_id] = inbound.user_id
        is_addressed = bool(inbound.private) or await self._is_addressed(event, found)
        if inbound.kind == "unreadable" and not is_addressed:
            return None
        if ":" in inbound.chat_id and await self._is_first(inbound.chat_id, event["ts"]):
            inbound = await self._with_thread(inbound, event)
        sender = await self._name_of(inbound.user_id)
        return replace(found, inbound=replace(inbound, sender=sender, addressed=is_addressed))

    async def parse_change(self, event: Json) -> InboundEvent | None:
        """Return an edit or deletion, if it is for the bot; else None.

        An edit that mentions the bot for the first time counts from its own time: replies before
        it were for others.
        """
        changed = events.change(event, await self.bot_id())
        if changed is None or not await self.is_meant(*changed):
            return None
        message, found = changed
        inbound, at = found.inbound, str(get_in(message, "edited", "ts"))
        if inbound.kind == "edit" and at and inbound.thread and not await self._is_known(inbound):
            await self._is_first(inbound.chat_id, at)
            inbound = await self._with_thread(inbound, {**message, "ts": at}, edited=message["ts"])
            sender = await self._name_of(inbound.user_id)
            found = replace(found, inbound=replace(inbound, sender=sender))
        return found

    async def _is_known(self, inbound: Inbound) -> bool:
        """Whether the bot takes part in a thread, or the thread is in direct messages."""
        return bool(inbound.private) or await self.takes_part(inbound.chat_id)

    async def _is_answered(self, event: Json, found: InboundEvent) -> bool:
        """Whether the bot has been told of a message by the edit that first mentioned it."""
        edited = str(get_in(event, "edited", "ts"))
        return bool(edited) and edited == await self._first(found.inbound.chat_id)

    async def _with_thread(self, inbound: Inbound, event: Json, edited: str = "") -> Inbound:
        """Return the first message to the bot in a thread, with the messages before it.

        ``edited`` is the ``ts`` of the message itself if an edit mentions the bot.
        """
        if not edited and event.get("thread_ts") in (None, "", event["ts"]):
            return inbound  # it starts the thread
        channel, thread = events.split(inbound.chat_id)
        messages: list[Json] = []
        problem = ""
        try:
            async with asyncio.timeout(THREAD_SECONDS):
                async for one in self._read_thread(channel, thread, event["ts"]):
                    messages.append(one)
        except TimeoutError:
            problem = "it is long, and Slack was slow"
        except HooklineError as error:
            problem = str(error)
        if problem:
            self._host.log.warning("cannot read all of a thread: %s", problem)
            note = f"({THREAD_UNREAD.format(problem)})"
            inbound = replace(inbound, text=f"{inbound.text}\n\n{note}")
        before = [
            one for one in messages if float(one["ts"]) < float(event["ts"]) and one["ts"] != edited
        ]
        users = {inbound.user_id, *(str(one.get("user") or "") for one in before)}
        await asyncio.gather(*(self._name_of(user) for user in users if user))
        earlier = [await self._earlier(one, inbound.user_id) for one in before]
        fields = earlier_fields(earlier)
        origins = (*inbound.origins, *fields.pop("origins", ()))
        return replace(inbound, origins=origins, **fields)

    async def _earlier(self, message: Json, sender: str) -> EarlierMessage:
        me, user = await self.bot_id(), str(message.get("user") or "")
        text = content_of(message)
        if user == me:
            return EarlierMessage(text, "")
        id_ = user or str(message.get("bot_id") or "")
        name = str(get_in(message, "bot_profile", "name") or message.get("username") or "")
        name = name or self._names.get(user, "")
        # A preview of a link, or a shared message, is by somebody else.
        is_own = user == sender and not message.get("attachments")
        return EarlierMessage(text, author_label(name, f"slack:{id_}"), is_own)

    async def is_meant(self, event: Json, found: InboundEvent) -> bool:
        """Whether a message is for the bot, from a person or a bot that config allows."""
        me = await self.bot_id()
        if event.get("subtype", "") not in events.WRITTEN_SUBTYPES or event.get("user") == me:
            return False
        if "bot_id" in event:
            is_heard = self._config.bots == "mentions" and f"<@{me}>" in str(event.get("text"))
            return is_heard and self._bots.allows(event["bot_id"], event["ts"], float(event["ts"]))
        is_open = found.inbound.private or self._config.groups == "always"
        return is_open or await self._is_addressed(event, found)

    async def _is_addressed(self, event: Json, found: InboundEvent) -> bool:
        """Whether a message mentions the bot, or is in its thread and mentions no one first."""
        me, text = await self.bot_id(), str(event.get("text") or "")
        if f"<@{me}>" in text:
            return True
        if not event.get("thread_ts") or text.lstrip().startswith("<@"):
            return False
        if event.get("parent_user_id") == me:
            return True
        first = await self._first(found.inbound.chat_id)
        return first is not None and float(event["ts"]) >= float(first)

    async def takes_part(self, chat: str) -> bool:
        """Whether the bot was addressed in a thread."""
        return await self._first(chat) is not None

    async def _is_first(self, chat: str, ts: str) -> bool:
        """Whether a message is the first to the bot in a thread, also when it comes again.

        Records it; messages before it are never for the bot.
        """
        first = await self._first(chat)
        if first is None or float(ts) < float(first):
            await self._host.storage.kv.set(THREAD_PREFIX + chat, ts)
            self._firsts[chat] = first = ts
        return first == ts

    async def _first(self, chat: str) -> str | None:
        """Return the ``ts`` of the first message to the bot in a thread; None without one."""
        if chat not in self._firsts:
            stored = await self._host.storage.kv.get(THREAD_PREFIX + chat)
            self._firsts[chat] = stored if isinstance(stored, str) else None
        return self._firsts[chat]

    async def _name_of(self, user: str) -> str:
        """Return a person's display name; empty if it is unknown."""
        try:
            if user not in self._names:
                async with asyncio.timeout(NAME_SECONDS):
                    profile = (await self._ask("users_info", user=user))["user"]["profile"]
                self._names[user] = profile.get("display_name") or profile.get("real_name") or ""
            return self._names[user]
        except (HooklineError, KeyError, TimeoutError) as error:
            self._host.log.info("cannot look up a name: %s", error or "Slack is slow")
            return ""
