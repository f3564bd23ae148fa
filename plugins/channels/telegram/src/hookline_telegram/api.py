"""The Bot API through its library, and how its refusals are understood.

Imported when a bot is first needed, because the library takes half a second. Everything is asked
for by the API's own names: what the library does not know yet, or one update that it cannot read,
is then no reason to lose the rest.
"""

from __future__ import annotations

import logging
import warnings
from datetime import timedelta
from typing import Any

import hookline_channelkit as kit
import httpx
from telegram import Bot
from telegram import error as refusals
from telegram.request import HTTPXRequest

from .config import FACTS, TOKEN, TelegramConfig

_SILENCED = {"httpx": logging.WARNING, "httpcore": logging.WARNING, "telegram": logging.CRITICAL}
"""Records below these hold addresses, and those hold the token; or they tell what is raised."""
_ERRORS = kit.ErrorClassifier(FACTS["errors"])


class Conflict(kit.PlatformError):
    """Somebody else asks for this bot's updates, or a webhook takes them."""


class Moved(kit.PlatformError):
    """The group has become the supergroup ``chat``."""

    def __init__(self, chat: int) -> None:
        super().__init__(f"the group has become the supergroup {chat}")
        self.chat = str(chat)


class Api:
    """One bot. No error's text holds its token."""

    def __init__(self, token: str, config: TelegramConfig) -> None:
        for name, level in _SILENCED.items():
            logging.getLogger(name).setLevel(level)
        seconds = {"connect": 10.0, "read": 20.0, "write": 20.0, "pool": 30.0, "media_write": 120.0}
        options: Any = {f"{name}_timeout": value for name, value in seconds.items()}
        http = HTTPXRequest(connection_pool_size=64, **options)
        self._bot = Bot(token, config.base_url, config.base_file_url, http, http)

    async def ask(self, method: str, *, seconds: float = 20.0, **parameters: Any) -> Any:
        """Call a method (``SendMessage``; the library warns of ``sendMessage``, which it has
        itself), with at most ``seconds`` for its answer. Raises the kit's errors."""
        given = {name: value for name, value in parameters.items() if value is not None}
        try:
            return await self._bot.do_api_request(method, given, read_timeout=seconds)
        except refusals.TelegramError as error:
            raise _meant(error) from None

    async def download(self, file_id: str) -> bytes:
        """A file's bytes. Raises :class:`ChatGone` if Telegram does not give it out."""
        try:
            file = await self._bot.get_file(file_id)
            return bytes(await file.download_as_bytearray(read_timeout=60.0))
        except refusals.TelegramError as error:
            raise _meant(error) from None

    async def aclose(self) -> None:
        """Close the connections."""
        await self._bot.request.shutdown()


def _meant(error: refusals.TelegramError) -> kit.PlatformError:
    match error:
        case refusals.RetryAfter():
            return kit.RetryAfter(_seconds(error))
        case refusals.ChatMigrated():
            return Moved(error.new_chat_id)
        case refusals.InvalidToken():
            return kit.CannotStart(TOKEN.rejected("Telegram"))
        case refusals.Conflict():
            return Conflict(error.message)
        case refusals.BadRequest():
            return _ERRORS.classify(error.message)(error.message)
        case refusals.Forbidden():
            return kit.ChatGone(error.message)
    if isinstance(error.__cause__, httpx.HTTPError):
        return kit.connection_error("Telegram", error.__cause__)
    garbage = "Invalid server response"  # it may have done what it was asked for
    told = f"no word from Telegram: {error.message.partition('. Parsing')[0][:200]}"
    return kit.DeliveryUnknown(told) if garbage in error.message else kit.PlatformError(told)


def _seconds(error: refusals.RetryAfter) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is going to be a timedelta
        wait: int | timedelta = error.retry_after
    return wait.total_seconds() if isinstance(wait, timedelta) else float(wait)
