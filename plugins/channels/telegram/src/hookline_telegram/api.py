"""Calls the Bot API over its library and converts its errors.

Imported when a bot is first used, because importing the library takes half a second.
Methods and fields have the API's own names, so that one unknown field or unreadable update does not
affect the others.
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
"""Lower records contain addresses with the token, or errors that are raised anyway."""
_ERRORS = kit.ErrorClassifier(FACTS["errors"])


class Conflict(kit.PlatformError):
    """Another process polls for this bot's updates, or a webhook receives them."""


class Moved(kit.PlatformError):
    """The group was upgraded to the supergroup ``chat``."""

    def __init__(self, chat: int) -> None:
        super().__init__(f"the group was upgraded to the supergroup {chat}")
        self.chat = str(chat)


class Api:
    """The API of one bot. Texts of errors never contain its token."""

    def __init__(self, token: str, config: TelegramConfig) -> None:
        for name, level in _SILENCED.items():
            logging.getLogger(name).setLevel(level)
        seconds = {"connect": 10.0, "read": 20.0, "write": 20.0, "pool": 30.0, "media_write": 120.0}
        options: Any = {f"{name}_timeout": value for name, value in seconds.items()}
        http = HTTPXRequest(connection_pool_size=64, **options)
        self._bot = Bot(token, config.base_url, config.base_file_url, http, http)

    async def ask(self, method: str, *, seconds: float = 20.0, **parameters: Any) -> Any:
        """Call a method, with at most ``seconds`` for its answer. Raises the kit's errors.

        Names are capitalized (``SendMessage``); for ``sendMessage`` the library warns.
        """
        fields = {name: value for name, value in parameters.items() if value is not None}
        try:
            return await self._bot.do_api_request(method, fields, read_timeout=seconds)
        except refusals.TelegramError as error:
            raise _map_error(error) from None

    async def download(self, file_id: str) -> bytes:
        """Return the bytes of a file. Raises :class:`ChatGone` if Telegram refuses it."""
        try:
            file = await self._bot.get_file(file_id)
            return bytes(await file.download_as_bytearray(read_timeout=60.0))
        except refusals.TelegramError as error:
            raise _map_error(error) from None

    async def aclose(self) -> None:
        """Close the connections."""
        await self._bot.request.shutdown()


def _map_error(error: refusals.TelegramError) -> kit.PlatformError:
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
    garbage = "Invalid server response"  # the request may have been executed
    text = f"no valid response from Telegram: {error.message.partition('. Parsing')[0][:200]}"
    return kit.DeliveryUnknown(text) if garbage in error.message else kit.PlatformError(text)


def _seconds(error: refusals.RetryAfter) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a later version returns a timedelta
        wait: int | timedelta = error.retry_after
    return wait.total_seconds() if isinstance(wait, timedelta) else float(wait)
