"""The loop that receives: updates are confirmed to Telegram when they are stored, never before."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hookline_channelkit import Complaints, RetryAfter, Take

from . import reading
from .api import SLACK, BadToken, Conflict, understood, updates_of
from .reading import Json, Me

if TYPE_CHECKING:
    from telegram import Bot

    from .arriving import Arriving

FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0
"""Seconds after a failure; they double."""
CONNECT_SECONDS = 15.0
"""For all that goes before the wait of a request."""
ALBUM_SECONDS = 0.5
"""What an album's further pictures are waited for; each comes as an update of its own."""
ALBUM_LOOKS = 4
PAGE = 100
"""Updates that are given at once (core.telegram.org/bots/api, getUpdates)."""


class Poller:
    """Asks for updates, again and again. ``offset`` is the first that was not stored."""

    def __init__(
        self, bot: Bot, arriving: Arriving, poll_seconds: int, log: logging.Logger
    ) -> None:
        self._bot = bot
        self._arriving = arriving
        self._poll_seconds = poll_seconds
        self._complaints = Complaints(log)
        self._me: Me | None = None
        self.offset = 0

    async def run(self, take: Take) -> None:
        """Receive until cancelled. Trouble is told once, and waited out."""
        wait = FIRST_WAIT
        while True:
            try:
                await self._once(take)
                wait = FIRST_WAIT
                self._complaints.over("receiving again")
                continue
            except RetryAfter as error:
                trouble, wait = str(error), error.retry_after
            except Conflict as error:
                trouble = f"somebody else receives for this bot; end it, please ({error})"
                if "webhook" in str(error):
                    await self._quietly_drop_webhook()
            except BadToken as error:
                trouble, wait = str(error), LONGEST_WAIT
            except Exception as error:
                trouble = str(error) or type(error).__name__
            self._complaints.tell(f"not receiving: {trouble}")
            await asyncio.sleep(wait)
            wait = min(max(wait, FIRST_WAIT) * 2, LONGEST_WAIT)

    async def _once(self, take: Take) -> None:
        async with asyncio.timeout(self._poll_seconds + CONNECT_SECONDS + SLACK):
            me = self._me = self._me or await self._who()
            found = await updates_of(self._bot, self.offset, self._poll_seconds)
        take.heard()
        if found:
            updates = await self._whole_albums(found)
            await self._store(updates, me, take)
            self.offset = max(int(update["update_id"]) for update in updates) + 1

    async def _who(self) -> Me:
        with understood():
            user = await self._bot.get_me()
        return Me(user.id, user.username or "")

    async def _store(self, updates: Sequence[Json], me: Me, take: Take) -> None:
        """Store everything, in order within a chat. Raises if something could not be: then all
        has to come again, and what was stored is known by its id."""
        chats: dict[int, list[Json]] = {}
        for update in updates:
            chats.setdefault(reading.chat_of(update), []).append(update)
        work = [self._arriving.store(of_chat, me, take) for of_chat in chats.values()]
        for failed in await asyncio.gather(*work, return_exceptions=True):
            if failed is not None:
                raise failed

    async def _whole_albums(self, updates: Sequence[Json]) -> Sequence[Json]:
        """Ask for the same again while an album at its end still grows: nothing was confirmed."""
        for _ in range(ALBUM_LOOKS):
            last = updates[-1].get("message", {})
            if "media_group_id" not in last or len(updates) >= PAGE:
                break
            await asyncio.sleep(ALBUM_SECONDS)
            more = await updates_of(self._bot, self.offset, 0)
            if len(more) <= len(updates):
                break
            updates = more
        return updates

    async def _quietly_drop_webhook(self) -> None:
        try:
            await self._bot.delete_webhook(drop_pending_updates=False)
        except Exception as error:
            self._complaints.tell(f"the webhook could not be taken away: {error}")
