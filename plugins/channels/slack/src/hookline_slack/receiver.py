"""Decides which messages are for the bot, and adds their senders' names."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from hookline_channelkit import BoundedDict, HourlyLimit, InboundEvent
from hookline_hookspecs import HooklineError, Host

from . import events
from .config import Json, SlackConfig

THREAD_PREFIX = "thread:"
"""Key prefix, in the plugin's key-value storage, for threads that the bot takes part in."""


class SlackReceiver:
    """Knows the bot's id, people's names, and the threads that the bot takes part in.

    Attributes:
        team: the workspace's id, once :meth:`bot_id` was called.
        writers: the last writer of each chat.
    """

    def __init__(
        self, config: SlackConfig, host: Host, ask: Callable[..., Awaitable[Json]]
    ) -> None:
        self._config, self._host, self._ask = config, host, ask
        self._me = self.team = ""
        self.writers: BoundedDict[str, str] = BoundedDict()
        self._names: BoundedDict[str, str] = BoundedDict()
        self._ours: BoundedDict[str, bool] = BoundedDict()
        self._bots = HourlyLimit(config.bot_messages)

    async def bot_id(self) -> str:
        """Return the bot's own id."""
        if not self._me:
            me = await self._ask("auth_test")
            self._me, self.team = str(me["user_id"]), str(me["team_id"])
        return self._me

    async def parse_message(self, event: Json) -> InboundEvent | None:
        """Return a message, live or of a history, if it is for the bot; else None."""
        found = events.message(event, await self.bot_id())
        if not await self.is_meant(event, found):
            return None
        inbound = found.inbound
        self.writers[inbound.chat_id] = inbound.user_id
        if ":" in inbound.chat_id and not await self.takes_part(inbound.chat_id):
            await self._host.storage.kv.set(THREAD_PREFIX + inbound.chat_id, True)
            self._ours[inbound.chat_id] = True
        is_addressed = bool(inbound.private) or await self._is_addressed(event, found)
        sender = await self._name_of(inbound.user_id)
        return replace(found, inbound=replace(inbound, sender=sender, addressed=is_addressed))

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
        return event.get("parent_user_id") == me or await self.takes_part(found.inbound.chat_id)

    async def takes_part(self, chat: str) -> bool:
        """Whether the bot was addressed in a thread before."""
        if chat not in self._ours:
            self._ours[chat] = bool(await self._host.storage.kv.get(THREAD_PREFIX + chat, False))
        return self._ours[chat]

    async def _name_of(self, user: str) -> str:
        """Return a person's display name; empty if it is unknown."""
        try:
            if user not in self._names:
                profile = (await self._ask("users_info", user=user))["user"]["profile"]
                self._names[user] = profile.get("display_name") or profile.get("real_name") or ""
            return self._names[user]
        except (HooklineError, KeyError) as error:
            self._host.log.info("cannot look up a name: %s", error)
            return ""
