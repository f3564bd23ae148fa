"""The rules of a chat, in the plugin's storage: what people there allowed, asked for or denied."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any

from hookline_hookspecs import Host

from .rules import CHAT, SESSION, Kind, Rule, RuleError, parse_rule

MAX_CHAT_RULES = 200
"""Rules of one chat; the oldest is removed for a new one."""
MAX_CACHED_CHATS = 1_024
"""Chats whose rules are kept in memory."""
MAX_PERSON_CHARS = 100
"""Characters shown of who added a rule."""
_KEY = "rules:"
"""Begins the keys in the plugin's storage."""


@dataclass(frozen=True, slots=True)
class Chat:
    """A chat, and the session in it whose rules also apply."""

    channel: str
    chat_id: str
    session_id: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """The chat without the session."""
        return self.channel, self.chat_id


@dataclass(frozen=True, slots=True)
class ChatRule:
    """A stored rule. ``session`` is the session with which it ends, or empty; ``by`` is who added
    it, as ``channel:user``, empty if unknown; ``added`` is Unix time in seconds."""

    kind: Kind
    text: str
    session: str
    by: str
    added: float

    @property
    def where(self) -> str:
        """``session`` for a rule that ends with one, else ``chat``."""
        return SESSION if self.session else CHAT

    def rule(self) -> Rule:
        """The rule. Raises :class:`RuleError` if it cannot be read."""
        return _parsed(self.kind, self.text, self.where)


@lru_cache(maxsize=MAX_CACHED_CHATS)
def _parsed(kind: Kind, text: str, where: str) -> Rule:
    """A stored rule, which is parsed once for many calls."""
    return parse_rule(kind, text, where)


class ChatRules:
    """The stored rules of chats."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._known: OrderedDict[tuple[str, str], list[ChatRule]] = OrderedDict()
        self._expired: set[tuple[str, str]] = set()

    @property
    def _kv(self) -> Any:
        """The values; reached only when needed, so that the plugin is on without a store too."""
        return self._host.storage.kv

    async def of(self, chat: Chat, *, fresh: bool = True) -> list[ChatRule]:
        """The rules that apply in a chat's session, oldest first.

        Unless ``fresh``, what another process stored since they were read may be missing.
        """
        found = self._known.get(chat.key)
        if found is None or (fresh and chat.key in self._expired):
            found = await self._all(chat)
        return [one for one in found if one.session in ("", chat.session_id)]

    async def all(self) -> list[tuple[Chat, list[ChatRule]]]:
        """The rules of every chat."""
        keys = await self._kv.keys(_KEY)
        chats = [Chat(*json.loads(key.removeprefix(_KEY))) for key in keys]
        return [(chat, await self._all(chat)) for chat in chats]

    def expire(self, chat: Chat) -> None:
        """Have a chat's rules read again: another process may have changed them."""
        if chat.key in self._known:
            self._expired.add(chat.key)

    async def add(
        self, chat: Chat, kind: Kind, texts: Iterable[str], *, by: str, for_session: bool = False
    ) -> None:
        """Store rules. Raises :class:`RuleError` if one is none."""
        session = chat.session_id if for_session else ""
        found = await self._all(chat)
        for text in texts:
            one = ChatRule(kind, text, session, by, self._host.now())
            one.rule()
            found = [
                old for old in found if (old.kind, old.text, old.session) != (kind, text, session)
            ]
            found.append(one)
        await self._store(chat, found[-MAX_CHAT_RULES:])

    async def remove(self, chat: Chat, text: str) -> int:
        """Remove a rule from a chat and return how many there were."""
        found = await self._all(chat)
        kept = [one for one in found if one.text != text]
        if len(kept) < len(found):
            await self._store(chat, kept)
        return len(found) - len(kept)

    async def end_session(self, chat: Chat) -> None:
        """Forget what was allowed for a session."""
        found = await self._all(chat)
        kept = [one for one in found if not one.session or one.session != chat.session_id]
        if len(kept) < len(found):
            await self._store(chat, kept)

    async def copy_session(self, chat: Chat, session_id: str) -> None:
        """Let the rules of a session also apply in another one of the chat."""
        found = await self._all(chat)
        copied = [
            replace(one, session=session_id) for one in found if one.session == chat.session_id
        ]
        if copied and chat.session_id:
            await self._store(chat, [*found, *copied][-MAX_CHAT_RULES:])

    async def _all(self, chat: Chat) -> list[ChatRule]:
        stored = await self._kv.get(_key(chat))
        rules = [ChatRule(**one) for one in stored] if isinstance(stored, list) else []
        return self._remember(chat, rules)

    def _remember(self, chat: Chat, rules: list[ChatRule]) -> list[ChatRule]:
        self._known[chat.key] = rules
        self._known.move_to_end(chat.key)
        self._expired.discard(chat.key)
        while len(self._known) > MAX_CACHED_CHATS:
            self._expired.discard(self._known.popitem(last=False)[0])
        return rules

    async def _store(self, chat: Chat, rules: list[ChatRule]) -> None:
        self._remember(chat, rules)
        if rules:
            await self._kv.set(_key(chat), [asdict(one) for one in rules])
        else:
            await self._kv.delete(_key(chat))


def readable_rules(stored: Iterable[ChatRule]) -> list[Rule]:
    """The rules that can be read; each was read once before it was stored."""
    found = []
    for one in stored:
        try:
            found.append(one.rule())
        except RuleError:
            continue
    return found


def _key(chat: Chat) -> str:
    return _KEY + json.dumps([chat.channel, chat.chat_id])
