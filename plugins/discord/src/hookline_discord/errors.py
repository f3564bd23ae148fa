"""How Discord's refusals are understood."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import aiohttp
import discord
import hookline_channelkit as kit

from .facts import FACTS

BANNED_SECONDS = 600.0
"""To wait after a refusal that comes not from Discord itself but from what stands before it."""


class Archived(kit.WireError):
    """The thread is archived; it can be opened again."""


@contextmanager
def understood(*, unsure: bool = False) -> Iterator[None]:
    """Raise the library's errors as those of the kit; no text of them holds a token.

    ``unsure``: what gets no answer may have been done all the same, and must not be done twice.
    """
    try:
        yield
    except discord.LoginFailure:
        raise kit.CannotStart(FACTS["fatal"]["4004"]) from None
    except discord.RateLimited as error:
        raise kit.RetryAfter(error.retry_after) from None
    except discord.HTTPException as error:
        raise _refused(error, unsure) from None
    except (aiohttp.ClientConnectorError, aiohttp.InvalidURL):
        raise kit.WireError("no connection to Discord") from None
    except (OSError, aiohttp.ClientError, TimeoutError) as error:
        told = f"no word from Discord: {type(error).__name__}"
        raise (kit.Unsure if unsure else kit.WireError)(told) from None


def _refused(error: discord.HTTPException, unsure: bool) -> kit.WireError:
    """Status 400 does not go away by itself: what is not known ends the reply."""
    text = f"{error.text[:200]} ({error.code or error.status})"
    if error.code in FACTS["lost"]:
        return kit.Lost(text)
    if error.status == 429:  # the library has waited for all others
        told = error.response.headers.get("Retry-After", "")
        return kit.RetryAfter(float(told) if told.isdecimal() else BANNED_SECONDS, "workspace")
    if error.status >= 500 or error.status == 401:
        return (kit.Unsure if unsure and error.status != 401 else kit.WireError)(text)
    if (denied := FACTS["denied"].get(str(error.code))) is not None:
        return kit.Refused(denied)
    if error.code == 50035 and "content" in error.text and "in length" in error.text:
        return kit.TooLong(text)
    return Archived(text) if error.code == 50083 else kit.Gone(text)
