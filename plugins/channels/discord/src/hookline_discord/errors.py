"""How Discord's refusals are understood."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import aiohttp
import discord
import hookline_channelkit as kit

from .facts import FACTS, TOKEN

BANNED_SECONDS = 600.0
"""To wait after a refusal that comes not from Discord itself but from what stands before it."""


class Archived(kit.PlatformError):
    """The thread is archived; it can be opened again."""


_ERRORS = kit.ErrorClassifier(FACTS["errors"], Archived)


@contextmanager
def understood(*, unsure: bool = False) -> Iterator[None]:
    """Raise the library's errors as those of the kit; no text of them holds a token.

    ``unsure``: what gets no answer may have been done all the same, and must not be done twice.
    """
    try:
        yield
    except discord.LoginFailure:
        raise kit.CannotStart(TOKEN.rejected("Discord")) from None
    except discord.RateLimited as error:
        raise kit.RetryAfter(error.retry_after) from None
    except discord.HTTPException as error:
        raise _refused(error, unsure) from None
    except (OSError, aiohttp.ClientError) as error:
        raise kit.connection_error("Discord", error, sends=unsure) from None


def _refused(error: discord.HTTPException, unsure: bool) -> kit.PlatformError:
    """What a refusal means, by its code where that is known."""
    text = f"{error.text[:200]} ({error.code or error.status})"
    if (meaning := _ERRORS.by_code(error.code)) is not kit.ChatGone:
        return meaning(text)
    if (denied := FACTS["denied"].get(str(error.code))) is not None:
        return kit.PermissionDenied(denied)
    if error.status == 429:  # the library has waited for all others
        told = error.response.headers.get("Retry-After", "")
        return kit.RetryAfter(float(told) if told.isdecimal() else BANNED_SECONDS, "workspace")
    if error.status >= 500:
        return (kit.DeliveryUnknown if unsure else kit.PlatformError)(text)
    if error.status == 401:
        return kit.PlatformError(text)
    is_long = error.code == 50035 and "content" in error.text and "in length" in error.text
    return (kit.MessageTooLong if is_long else kit.ChatGone)(text)
