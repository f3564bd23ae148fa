"""Converts the library's errors to those of the kit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import aiohttp
import discord
import hookline_channelkit as kit

from .facts import FACTS, TOKEN

BANNED_SECONDS = 600.0
"""Seconds to wait after a refusal by the proxy in front of Discord, which names no time."""


class Archived(kit.PlatformError):
    """The thread is archived; it can be opened again."""


_ERRORS = kit.ErrorClassifier(FACTS["errors"], Archived)


@contextmanager
def map_errors(*, sends: bool = False) -> Iterator[None]:
    """Raise the library's errors as those of the kit; no text of them holds a token.

    ``sends``: a request without an answer may have been executed and must not be repeated.
    """
    try:
        yield
    except discord.LoginFailure:
        raise kit.CannotStart(TOKEN.rejected("Discord")) from None
    except discord.RateLimited as error:
        raise kit.RetryAfter(error.retry_after) from None
    except discord.HTTPException as error:
        raise _refused(error, sends) from None
    except (OSError, aiohttp.ClientError) as error:
        raise kit.connection_error("Discord", error, sends=sends) from None


def _refused(error: discord.HTTPException, sends: bool) -> kit.PlatformError:
    """Return the error for a refusal, by its code if that is known."""
    text = f"{error.text[:200]} ({error.code or error.status})"
    if (meaning := _ERRORS.by_code(error.code)) is not kit.ChatGone:
        return meaning(text)
    if (denied := FACTS["denied"].get(str(error.code))) is not None:
        return kit.PermissionDenied(denied)
    if error.status == 429:  # the library has waited for all others
        seconds = error.response.headers.get("Retry-After", "")
        return kit.RetryAfter(
            float(seconds) if seconds.isdecimal() else BANNED_SECONDS, "workspace"
        )
    if error.status >= 500:
        return (kit.DeliveryUnknown if sends else kit.PlatformError)(text)
    if error.status == 401:
        return kit.PlatformError(text)
    is_long = error.code == 50035 and "content" in error.text and "in length" in error.text
    return (kit.MessageTooLong if is_long else kit.ChatGone)(text)
