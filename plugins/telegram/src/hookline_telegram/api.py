"""The library's bot, and how the Bot API's refusals are understood.

Imported when a bot is first needed, because the library takes half a second.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import httpx
from hookline_channelkit import (
    BadMarkup,
    CannotStart,
    Gone,
    Lost,
    NotModified,
    RetryAfter,
    TooLong,
    Unsure,
    WireError,
)
from hookline_hookspecs import Attachment, Audio
from telegram import Bot, InlineKeyboardButton, InlineKeyboardMarkup, LinkPreviewOptions, Message
from telegram import error as refusals
from telegram.request import HTTPXRequest

SLACK = 5.0
"""Seconds beyond those that a request for updates may stay open, until it counts as dead."""
PHOTO_BYTES = 10_000_000
"""The largest photo that can be sent (core.telegram.org/bots/api, sendPhoto)."""
PHOTOS = frozenset({"image/jpeg", "image/png", "image/webp"})
NO_PREVIEW = LinkPreviewOptions(is_disabled=True)
"""For every text that is sent or edited (``LINK_PREVIEWS`` of the kit); captions have none."""
UPDATES = ["message", "edited_message", "callback_query"]
_SILENCED = {"httpx": logging.WARNING, "httpcore": logging.WARNING, "telegram": logging.CRITICAL}
"""Records below these hold addresses, and those hold the token; or they tell what is raised."""
_UNSENT = (
    *(httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout),
    *(httpx.WriteError, httpx.WriteTimeout, httpx.UnsupportedProtocol),
)
"""What breaks before a request is whole at the other end."""
_NAMED: Sequence[tuple[type[WireError], tuple[str, ...]]] = (
    (BadMarkup, ("can't parse", "unsupported parse_mode", "entity")),
    (TooLong, ("is too long", "too_long")),
    (NotModified, ("is not modified",)),
    (Lost, ("message to edit not found", "can't be edited", "message_id_invalid")),
    (Lost, ("message to delete not found", "can't be deleted")),
)
"""Parts of a description of status 400, in lower case, and what they mean."""


class Conflict(WireError):
    """Somebody else asks for this bot's updates, or a webhook takes them."""


class BadToken(CannotStart):
    """The token is not, or is no longer, a bot's."""


class Moved(WireError):
    """The group has become a supergroup with another id."""

    def __init__(self, chat: int) -> None:
        super().__init__(f"the group has become the supergroup {chat}")
        self.chat = chat


def bot_of(token: str, base_url: str, base_file_url: str) -> Bot:
    """A bot; :func:`close` it. Its methods are called inside :func:`understood`."""
    for name, level in _SILENCED.items():
        logging.getLogger(name).setLevel(level)
    http = HTTPXRequest(
        connection_pool_size=64,
        connect_timeout=10.0,
        read_timeout=20.0,
        write_timeout=20.0,
        pool_timeout=30.0,
        media_write_timeout=120.0,
    )
    return Bot(token, base_url, base_file_url, http, http)


async def close(bot: Bot) -> None:
    """Close the connections."""
    await bot.request.shutdown()


@contextmanager
def understood() -> Iterator[None]:
    """Raise the library's errors as those of the kit. No text of them holds the token."""
    try:
        yield
    except refusals.RetryAfter as error:
        raise RetryAfter(_seconds(error)) from None
    except refusals.ChatMigrated as error:
        raise Moved(error.new_chat_id) from None
    except refusals.InvalidToken:
        raise BadToken(
            "Telegram does not know telegram.token; copy it anew from @BotFather into .env as "
            "TELEGRAM_BOT_TOKEN=…"
        ) from None
    except refusals.Conflict as error:
        raise Conflict(error.message) from None
    except refusals.Forbidden as error:
        raise Gone(error.message) from None
    except refusals.BadRequest as error:
        raise _refused(error.message) from None
    except refusals.TelegramError as error:
        raise _broken(error) from None


def _seconds(error: refusals.RetryAfter) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is going to be a timedelta
        wait: int | timedelta = error.retry_after
    return wait.total_seconds() if isinstance(wait, timedelta) else float(wait)


def _refused(description: str) -> WireError:
    """Status 400 does not go away by itself: what is not known ends the reply."""
    lower = description.casefold()
    for kind, parts in _NAMED:
        if any(part in lower for part in parts):
            return kind(description)
    return Gone(description)


def _broken(error: refusals.TelegramError) -> WireError:
    """Where an answer is missing after the request was written, nobody knows what it did."""
    cause = error.__cause__
    reason = error.message.partition(". Parsing the server response")[0]
    text = f"no word from Telegram: {reason[:200]}"
    is_lost = isinstance(cause, httpx.HTTPError) and not isinstance(cause, _UNSENT)
    is_lost = is_lost or "Invalid server response" in error.message
    return Unsure(text) if is_lost else WireError(text)


async def updates_of(bot: Bot, offset: int, seconds: int) -> list[Mapping[str, Any]]:
    """Updates from ``offset`` on, as they came; those before it are confirmed by this.

    Not ``Bot.get_updates``: there one update that cannot be read holds up all others. Names of
    methods are case-insensitive; the library warns of one that it has itself.
    """
    asked = {"offset": offset, "timeout": seconds, "allowed_updates": UPDATES}
    with understood():
        found: list[Mapping[str, Any]] = await bot.do_api_request(
            "GetUpdates", asked, read_timeout=seconds + SLACK
        )
    return found


async def download(bot: Bot, file_id: str) -> bytes:
    """A file's bytes. Raises :class:`Gone` if Telegram does not give it out."""
    with understood():
        file = await bot.get_file(file_id)
        return bytes(await file.download_as_bytearray(read_timeout=60.0))


def keyboard(choices: Sequence[str]) -> InlineKeyboardMarkup | None:
    """A button a line. Its data is a number: 64 bytes are all there is, and labels are longer."""
    if not choices:
        return None
    return InlineKeyboardMarkup(
        [[InlineKeyboardButton(label, callback_data=str(n))] for n, label in enumerate(choices)]
    )


async def send_file(bot: Bot, item: Attachment | Audio, data: bytes, **common: Any) -> Message:
    """Send a file in its native form, and as a document where that is refused."""
    common["filename"] = item.path.name if isinstance(item, Audio) else item.name
    try:
        with understood():
            return await _native(bot, item, data, common)
    except Gone:
        with understood():
            return await bot.send_document(document=data, **common)


async def _native(bot: Bot, item: Attachment | Audio, data: bytes, common: Any) -> Message:
    if isinstance(item, Audio):
        seconds = round(item.duration) or None
        if data.startswith(b"OggS") and b"OpusHead" in data[:64]:
            return await bot.send_voice(voice=data, duration=seconds, **common)
        return await bot.send_audio(audio=data, duration=seconds, **common)
    if item.mime in PHOTOS and len(data) <= PHOTO_BYTES:
        return await bot.send_photo(photo=data, **common)
    return await bot.send_document(document=data, **common)
