"""A person's changes of a profile: pin and unpin lines, clear it, restore a version.

Each method raises ``InvalidChange`` if it is not possible.
"""

from __future__ import annotations

from collections.abc import Sequence

from hookline_hookspecs.chat_files import Chat, storable

from .profile import PIN, join_lines, lines, pin
from .profiles import ChangeSource, ProfileStore, ProfileVersion, StoredProfile
from .user_file import InvalidChange

PINNED_SHARE = 0.5
"""The share of a profile's characters that pinned lines may use."""


class ProfileEdits:
    """The changes that ``/user`` and the pages make."""

    def __init__(self, profiles: ProfileStore, max_chars: int) -> None:
        self._profiles = profiles
        self._max_pinned_chars = int(max_chars * PINNED_SHARE)

    async def pin(self, chat: Chat, source: ChangeSource, text: str) -> str:
        """Pin a line that passed ``pre_learn``; return it as stored."""
        line = pin(storable(text))

        def make(present: StoredProfile, _versions: Sequence[ProfileVersion]) -> str:
            if line in present.profile.pinned:
                return present.text
            pinned = [*present.profile.pinned, line]
            if len(join_lines(pinned)) > self._max_pinned_chars:
                raise InvalidChange(
                    f"pinned lines may have {self._max_pinned_chars:,} characters in total; unpin "
                    f"one, or use fewer words"
                )
            rest = [line for line in lines(present.text) if line not in present.profile.pinned]
            return join_lines([*pinned, *rest])

        await self._profiles.change(chat, source, make)
        return line.removeprefix(PIN)

    async def unpin(self, chat: Chat, source: ChangeSource, text: str) -> str:
        """Remove the one pinned line that contains the text; return the line."""
        folded = " ".join(text.split()).casefold()
        removed: list[str] = []

        def make(present: StoredProfile, _versions: Sequence[ProfileVersion]) -> str:
            found = [
                line for line in present.profile.pinned if folded and folded in line.casefold()
            ]
            if len(found) != 1:
                raise InvalidChange(
                    f"{len(found)} pinned lines contain that text; give the text of exactly one"
                )
            removed[:] = found
            return join_lines([line for line in lines(present.text) if line != found[0]])

        await self._profiles.change(chat, source, make)
        return removed[0].removeprefix(PIN)

    async def clear(self, chat: Chat, source: ChangeSource) -> bool:
        """Remove everything, including pinned lines; return False if it was empty."""
        before: list[str] = []

        def make(present: StoredProfile, _versions: Sequence[ProfileVersion]) -> str:
            before.append(present.text)
            return ""

        await self._profiles.change(chat, source, make)
        return bool(before[0])

    async def restore(self, chat: Chat, source: ChangeSource, version: int) -> None:
        """Restore a version."""

        def make(_present: StoredProfile, versions: Sequence[ProfileVersion]) -> str:
            found = next(
                (candidate for candidate in versions if candidate.version == version), None
            )
            if found is None:
                raise InvalidChange(f"no version {version}; /user history lists them")
            return found.text

        await self._profiles.change(chat, source, make)
