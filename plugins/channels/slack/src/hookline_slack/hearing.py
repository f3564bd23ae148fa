"""Which messages are for the bot, and who has written them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from hookline_channelkit import BoundedDict, HourlyLimit, InboundEvent
from hookline_hookspecs import HooklineError, Host

from . import reading
from .config import Json, SlackConfig

THREAD = "thread:"
"""Before a thread that the bot takes part in, in the plugin's key-value storage."""


class Hearing:
    """Knows the bot's name, people's names, and the threads that the bot takes part in.

    Attributes:
        team: the workspace, once :meth:`who` has been asked.
        writers: who wrote last, by chat.
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

    async def who(self) -> str:
        """The bot's own id."""
        if not self._me:
            me = await self._ask("auth_test")
            self._me, self.team = str(me["user_id"]), str(me["team_id"])
        return self._me

    async def heard(self, event: Json) -> InboundEvent | None:
        """A message, live or out of a history, if it is for the bot."""
        found = reading.message(event, await self.who())
        if not await self.is_meant(event, found):
            return None
        inbound = found.inbound
        self.writers[inbound.chat_id] = inbound.user_id
        if ":" in inbound.chat_id and not await self.takes_part(inbound.chat_id):
            await self._host.storage.kv.set(THREAD + inbound.chat_id, True)
            self._ours[inbound.chat_id] = True
        is_addressed = bool(inbound.private) or await self._is_addressed(event, found)
        sender = await self._name_of(inbound.user_id)
        return replace(found, inbound=replace(inbound, sender=sender, addressed=is_addressed))

    async def is_meant(self, event: Json, found: InboundEvent) -> bool:
        """True if a person wrote it, and to the bot."""
        me = await self.who()
        if event.get("subtype", "") not in reading.SPOKEN or event.get("user") == me:
            return False
        if "bot_id" in event:
            is_heard = self._config.bots == "mentions" and f"<@{me}>" in str(event.get("text"))
            return is_heard and self._bots.allows(event["bot_id"], event["ts"], float(event["ts"]))
        is_open = found.inbound.private or self._config.groups == "always"
        return is_open or await self._is_addressed(event, found)

    async def _is_addressed(self, event: Json, found: InboundEvent) -> bool:
        """True if it mentions the bot, or is in a thread of the bot's and begins with nobody
        else's name."""
        me, text = await self.who(), str(event.get("text") or "")
        if f"<@{me}>" in text:
            return True
        if not event.get("thread_ts") or text.lstrip().startswith("<@"):
            return False
        return event.get("parent_user_id") == me or await self.takes_part(found.inbound.chat_id)

    async def takes_part(self, chat: str) -> bool:
        """True for a thread in which the bot was spoken to."""
        if chat not in self._ours:
            self._ours[chat] = bool(await self._host.storage.kv.get(THREAD + chat, False))
        return self._ours[chat]

    async def _name_of(self, user: str) -> str:
        """A person's name as others see it; empty if Slack does not tell."""
        try:
            if user not in self._names:
                profile = (await self._ask("users_info", user=user))["user"]["profile"]
                self._names[user] = profile.get("display_name") or profile.get("real_name") or ""
            return self._names[user]
        except (HooklineError, KeyError) as error:
            self._host.log.info("cannot look up a name: %s", error)
            return ""
