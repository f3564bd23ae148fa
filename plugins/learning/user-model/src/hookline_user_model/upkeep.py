"""What a person does with a portrait: pins and unpins a line, clears it, restores a version.

Each method raises ``Complaint`` with a sentence where it cannot be done.
"""

from __future__ import annotations

from collections.abc import Sequence

from hookline_hookspecs.chat_files import Chat, storable

from .portrait import PIN, joined, lines, pin
from .userfile import Complaint
from .versions import Portraits, Present, Source, Version

PINNED_SHARE = 0.5
"""The share of the characters that pinned lines may take."""


class Upkeep:
    """The changes, whoever asks for them: ``/user`` or a page."""

    def __init__(self, portraits: Portraits, max_chars: int) -> None:
        self._portraits = portraits
        self._room = int(max_chars * PINNED_SHARE)

    async def pin(self, chat: Chat, source: Source, text: str) -> str:
        """Keep a line, which has passed ``pre_learn``; return it as it is kept."""
        line = pin(storable(text))

        def make(present: Present, _past: Sequence[Version]) -> str:
            if line in present.portrait.pinned:
                return present.text
            pinned = [*present.portrait.pinned, line]
            if len(joined(pinned)) > self._room:
                raise Complaint(
                    f"pinned lines may have {self._room:,} characters in all; unpin one, or say it "
                    f"in fewer words"
                )
            rest = [one for one in lines(present.text) if one not in present.portrait.pinned]
            return joined([*pinned, *rest])

        await self._portraits.change(chat, source, make)
        return line.removeprefix(PIN)

    async def unpin(self, chat: Chat, source: Source, text: str) -> str:
        """Remove the one pinned line that holds the text; return the line."""
        wanted = " ".join(text.split()).casefold()
        removed: list[str] = []

        def make(present: Present, _past: Sequence[Version]) -> str:
            found = [one for one in present.portrait.pinned if wanted and wanted in one.casefold()]
            if len(found) != 1:
                raise Complaint(f"{len(found)} pinned lines hold that; give the words of one")
            removed[:] = found
            return joined([one for one in lines(present.text) if one != found[0]])

        await self._portraits.change(chat, source, make)
        return removed[0].removeprefix(PIN)

    async def clear(self, chat: Chat, source: Source) -> bool:
        """Remove everything, pinned lines too; return False if nothing was there."""
        before: list[str] = []

        def make(present: Present, _past: Sequence[Version]) -> str:
            before.append(present.text)
            return ""

        await self._portraits.change(chat, source, make)
        return bool(before[0])

    async def restore(self, chat: Chat, source: Source, version: int) -> None:
        """Bring back a version."""

        def make(_present: Present, past: Sequence[Version]) -> str:
            found = next((one for one in past if one.version == version), None)
            if found is None:
                raise Complaint(
                    f"there is no version {version}; /user history shows those there are"
                )
            return found.text

        await self._portraits.change(chat, source, make)
