"""Imports profiles of another program (service ``Importer``)."""

from __future__ import annotations

from collections.abc import Sequence

from hookline_hookspecs import Host, Refused
from hookline_hookspecs.chat_files import Chat
from hookline_hookspecs.importers import Item, Outcome, Receipt, State

from .config import UserModelConfig
from .curator import KIND
from .profile import join_lines, lines
from .profiles import ChangeSource, ProfileStore, ProfileVersion, StoredProfile
from .user_file import InvalidChange, file_name

CHANGE_KIND = "import"
TERMINAL = "terminal:default"


class ProfileImporter:
    """Imports a profile if the chat has none; two are never mixed."""

    kinds = frozenset({"user"})

    def __init__(self, host: Host, config: UserModelConfig, profiles: ProfileStore) -> None:
        self._host = host
        self._config = config
        self._profiles = profiles

    async def look(self, item: Item) -> Outcome:
        """Return what :meth:`take` would do."""
        return await self._import(item, again=False, write=False)

    async def take(self, item: Item, *, again: bool = False) -> Outcome:
        """Make the item the chat's profile."""
        return await self._import(item, again=again, write=True)

    async def _import(self, item: Item, *, again: bool, write: bool) -> Outcome:
        chat = _chat(str(item.data.get("chat") or TERMINAL))
        target = file_name(chat)
        try:
            given = str(item.data["text"])
            passed = await self._host.learn(given, item.source, KIND, origins=())
        except Refused as refusal:
            return Outcome("blocked", target, str(refusal))
        text = join_lines(lines(passed.replace("\0", ""))).strip()
        if not text:
            return Outcome("skipped", target, "empty")
        if len(text) > self._config.max_chars:
            reason = f"the limit of a profile is {self._config.max_chars:,} characters"
            return Outcome("archived", target, reason, text=text)
        receipt = {"chat": chat.label, "text": text}
        existing = (await self._profiles.present(chat)).text
        if existing == text:
            state: State = "migrated" if again else "skipped"
            return Outcome(state, target, "" if again else "already known", receipt)
        if existing:
            return Outcome("conflict", target, "the chat already has a profile", text=text)
        if not write:
            return Outcome("planned", target)
        await self._profiles.change(
            chat, ChangeSource(CHANGE_KIND), lambda now, _versions: now.text or text
        )
        if (await self._profiles.present(chat)).text != text:
            return Outcome("conflict", target, "the chat already has a profile", text=text)
        return Outcome("migrated", target, receipt=receipt)

    async def give_back(self, kind: str, receipt: Receipt) -> Outcome:
        """Remove the profile, unless it was changed since."""
        chat, text = _chat(receipt["chat"]), receipt["text"]

        def make(present: StoredProfile, versions: Sequence[ProfileVersion]) -> str:
            return "" if present.text == text else present.text

        if await self._profiles.change(chat, ChangeSource("undo"), make):
            return Outcome("migrated", file_name(chat), "changed since")
        return Outcome("planned", file_name(chat))


def _chat(label: str) -> Chat:
    found = Chat.named(label)
    if found is None:
        raise InvalidChange(f"{label!r} is not a chat; write CHANNEL:ID")
    return found
