"""The Bot API through its library, and how its refusals are understood.

Imported when a bot is first needed, because the library takes half a second. Everything is asked
for by the API's own names: what the library does not know yet, or one update that it cannot read,
is then no reason to lose the rest.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import hookline_channelkit as kit
import httpx
from telegram import Bot
from telegram import error as refusals
from telegram.request import HTTPXRequest

_SILENCED = {"httpx": logging.WARNING, "httpcore": logging.WARNING, "telegram": logging.CRITICAL}
"""Records below these hold addresses, and those hold the token; or they tell what is raised."""
_UNSENT = (
    *(httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout),
    *(httpx.WriteError, httpx.WriteTimeout, httpx.UnsupportedProtocol),
)
"""What breaks before a request is whole at the other end."""
_NAMED: Sequence[tuple[type[kit.WireError], tuple[str, ...]]] = (
    (kit.BadMarkup, ("can't parse", "unsupported parse_mode", "entity")),
    (kit.TooLong, ("is too long", "too_long")),
    (kit.NotModified, ("is not modified",)),
    (kit.Lost, ("message to edit not found", "can't be edited", "message_id_invalid")),
    (kit.Lost, ("message to delete not found", "can't be deleted")),
)
"""Parts of a description of status 400, in lower case, and what they mean."""
_UNKNOWN = (
    "Telegram does not know telegram.token; copy it anew from @BotFather into .env as "
    "TELEGRAM_BOT_TOKEN=…"
)


class Conflict(kit.WireError):
    """Somebody else asks for this bot's updates, or a webhook takes them."""


class Moved(kit.WireError):
    """The group has become the supergroup ``chat``."""

    def __init__(self, chat: int) -> None:
        super().__init__(f"the group has become the supergroup {chat}")
        self.chat = str(chat)


class Api:
    """One bot. No error's text holds its token."""

    def __init__(self, token: str, base_url: str, base_file_url: str) -> None:
        for name, level in _SILENCED.items():
            logging.getLogger(name).setLevel(level)
        seconds = {"connect": 10.0, "read": 20.0, "write": 20.0, "pool": 30.0, "media_write": 120.0}
        options: Any = {f"{name}_timeout": value for name, value in seconds.items()}
        http = HTTPXRequest(connection_pool_size=64, **options)
        self._bot = Bot(token, base_url, base_file_url, http, http)

    async def ask(self, method: str, *, seconds: float = 20.0, **parameters: Any) -> Any:
        """Call a method (``SendMessage``; the library warns of ``sendMessage``, which it has
        itself), with at most ``seconds`` for its answer. Raises the kit's errors."""
        given = {name: value for name, value in parameters.items() if value is not None}
        try:
            return await self._bot.do_api_request(method, given, read_timeout=seconds)
        except refusals.TelegramError as error:
            raise _meant(error) from None

    async def download(self, file_id: str) -> bytes:
        """A file's bytes. Raises :class:`Gone` if Telegram does not give it out."""
        try:
            file = await self._bot.get_file(file_id)
            return bytes(await file.download_as_bytearray(read_timeout=60.0))
        except refusals.TelegramError as error:
            raise _meant(error) from None

    async def aclose(self) -> None:
        """Close the connections."""
        await self._bot.request.shutdown()


def _meant(error: refusals.TelegramError) -> kit.WireError:
    """Status 400 does not go away by itself: what is not known ends the reply. Where an answer is
    missing after the request was written, nobody knows what it did."""
    match error:
        case refusals.RetryAfter():
            return kit.RetryAfter(_seconds(error))
        case refusals.ChatMigrated():
            return Moved(error.new_chat_id)
        case refusals.InvalidToken():
            return kit.CannotStart(_UNKNOWN)
        case refusals.Conflict():
            return Conflict(error.message)
        case refusals.BadRequest():
            told = error.message.casefold()
            named = (kind for kind, parts in _NAMED if any(part in told for part in parts))
            return next(named, kit.Gone)(error.message)
        case refusals.Forbidden():
            return kit.Gone(error.message)
    cause, garbage = error.__cause__, "Invalid server response" in error.message
    is_lost = isinstance(cause, httpx.HTTPError) and not isinstance(cause, _UNSENT)
    reason = error.message.partition(". Parsing the server response")[0]
    return (kit.Unsure if is_lost or garbage else kit.WireError)(
        f"no word from Telegram: {reason[:200]}"
    )


def _seconds(error: refusals.RetryAfter) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is going to be a timedelta
        wait: int | timedelta = error.retry_after
    return wait.total_seconds() if isinstance(wait, timedelta) else float(wait)
