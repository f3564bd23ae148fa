"""The loop that receives: updates are confirmed to Telegram when they are stored, never before."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hookline_channelkit import RetryAfter, Take

from .api import SLACK, BadToken, Conflict, understood, updates_of
from .reading import Json, Me

if TYPE_CHECKING:
    from telegram import Bot

    from .taking import Taker

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

    def __init__(self, bot: Bot, taker: Taker, poll_seconds: int, log: logging.Logger) -> None:
        self._bot = bot
        self._taker = taker
        self._poll_seconds = poll_seconds
        self._log = log
        self._trouble = ""
        self._me: Me | None = None
        self.offset = 0

    async def run(self, take: Take) -> None:
        """Receive until cancelled. Trouble is told once, and waited out."""
        wait = FIRST_WAIT
        while True:
            try:
                await self._once(take)
                wait = FIRST_WAIT
                continue
            except RetryAfter as error:
                self._tell(str(error))
                wait = error.retry_after
            except Conflict as error:
                self._tell(f"somebody else receives for this bot; end it, please ({error})")
                if "webhook" in str(error):
                    await self._quietly_drop_webhook()
            except BadToken as error:
                self._tell(str(error))
                wait = LONGEST_WAIT
            except Exception as error:
                self._tell(str(error) or type(error).__name__)
            await asyncio.sleep(wait)
            wait = min(max(wait, FIRST_WAIT) * 2, LONGEST_WAIT)

    async def _once(self, take: Take) -> None:
        async with asyncio.timeout(self._poll_seconds + CONNECT_SECONDS + SLACK):
            me = self._me = self._me or await self._who()
            found = await updates_of(self._bot, self.offset, self._poll_seconds)
        take.heard()
        if found:
            updates = await self._whole_albums(found)
            await self._taker.store(updates, me, take)
            self.offset = max(int(update["update_id"]) for update in updates) + 1
        if self._trouble:
            self._log.warning("receiving again")
            self._trouble = ""

    async def _who(self) -> Me:
        with understood():
            user = await self._bot.get_me()
        return Me(user.id, user.username or "")

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
            self._log.info("the webhook could not be taken away: %s", error)

    def _tell(self, trouble: str) -> None:
        """Say what is wrong, once until it changes."""
        if trouble != self._trouble:
            self._log.warning("not receiving: %s", trouble)
        self._trouble = trouble
