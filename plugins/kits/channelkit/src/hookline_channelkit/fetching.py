"""Files of messages: fetched when it is known that their sender may write, and not before."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace

from hookline_hookspecs import Access, Attachment, Audio, Host, Inbound

from .arrivals import RemoteFile
from .errors import Gone, Refused
from .inbound import Media, TooLarge
from .refusals import Refusals
from .wire import Wire

TRIES = 3
"""Attempts to fetch a file."""
PAUSE = 1.0
"""Seconds after the first attempt, twice as many after the second."""
SECONDS = 120.0
"""For one attempt."""
REMEMBERED = 256
"""Messages whose senders are still to be told of a file that was not taken."""


class Fetching:
    """Fetches files.

    Args:
        host: the plugin's host.
        wire: the platform.
        media: where they are saved.
        refusals: where a missing permission is told.
    """

    def __init__(self, host: Host, wire: Wire, media: Media, refusals: Refusals) -> None:
        self._host, self._wire, self._media = host, wire, media
        self._refusals = refusals
        self._problems: OrderedDict[str, str] = OrderedDict()

    async def complete(self, inbound: Inbound, files: Sequence[RemoteFile]) -> Inbound:
        """The message with its files; with a sentence in its text for one that was not taken."""
        if files and not await self._may_write(inbound):
            return replace(inbound, text=inbound.text or f"({files[0].name})")
        fetched = await asyncio.gather(*[self._fetch(file) for file in files])
        problems = [one for one in fetched if isinstance(one, str)]
        items = tuple(one for one in fetched if not isinstance(one, str))
        if problems:
            self._remember(inbound.message_id, "\n".join(problems))
        words = [inbound.text, *(f"({one})" for one in problems)]
        text = "\n\n".join(word for word in words if word)
        return replace(inbound, text=text, attachments=(*inbound.attachments, *items))

    def problem_of(self, message_id: str) -> str | None:
        """What the sender of a message is still to be told, once."""
        return self._problems.pop(message_id, None)

    async def _may_write(self, inbound: Inbound) -> bool:
        """False for a person whose message will be refused: nothing of theirs is fetched."""
        access = self._host.services.get(Access)
        return access is None or await access.may_write(inbound.channel, inbound.user_id)

    async def _fetch(self, file: RemoteFile) -> Attachment | Audio | str:
        """The file, saved; or a sentence that says why not."""
        if file.size > self._media.limit:
            return self._too_large(file)
        for attempt in range(1, TRIES + 1):
            try:
                async with asyncio.timeout(SECONDS):
                    return await self._save(file)
            except TooLarge:
                return self._too_large(file)
            except Refused as error:
                await self._refusals.tell(error)
                break
            except Gone as error:
                self._host.log.warning("a file is not given out: %s", error)
                break
            except Exception as error:
                self._host.log.warning("a file could not be fetched: %s", error or type(error))
            if attempt < TRIES:
                await asyncio.sleep(attempt * PAUSE)
        return f"The file {file.name} could not be fetched. Please send it again."

    async def _save(self, file: RemoteFile) -> Attachment | Audio:
        data = await self._wire.fetch(file)
        if file.is_voice:
            return await self._media.audio(data, file.seconds)
        return await self._media.attachment(data, file.name)

    def _too_large(self, file: RemoteFile) -> str:
        size, most = file.size / 1e6, self._media.limit / 1e6
        told = f" ({size:.0f} MB)" if size else ""
        return (
            f"The file {file.name}{told} is too large: a bot takes {most:g} MB at most. Send it in "
            "parts, or as a link."
        )

    def _remember(self, id_: str, problem: str) -> None:
        self._problems[id_] = problem
        while len(self._problems) > REMEMBERED:
            self._problems.popitem(last=False)
