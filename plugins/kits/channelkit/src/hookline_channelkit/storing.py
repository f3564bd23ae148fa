"""From an event to what is stored: the same for every platform that pushes events."""

from __future__ import annotations

import logging
from collections.abc import Awaitable

from hookline_hookspecs import HooklineError, Inbound

from .arrivals import Arrival, Take
from .errors import Gone, Lost, Refused


async def stored(
    take: Take, reading: Awaitable[Arrival | Inbound | None], log: logging.Logger
) -> bool | None:
    """Read an event and have it stored; then it may be acknowledged.

    Args:
        take: stores what was read.
        reading: gives that, or None for what is nothing for the agent.
        log: where it is told that an event was left out: it cannot be read, or is about something
            that is gone or refused. It would be so again.

    Returns:
        What ``take`` says, or None if there was nothing to store.

    Raises:
        Exception: of ``take``, or a :class:`HooklineError` of ``reading``: it has to come again.
    """
    try:
        found = await reading
    except (Gone, Lost, Refused) as error:
        log.info("an event is left out: %s", error)
        return None
    except HooklineError:
        raise
    except Exception:
        log.exception("an event cannot be read and is left out")
        return None
    return None if found is None else await take(found)
