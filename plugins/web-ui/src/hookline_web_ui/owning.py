"""Whose a session is: the one check for sessions, files and questions.

A chat of the page has the id ``UUID:NAME``: the UUID that the page made, and whose it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from hookline_webkit import Identity, Problem

CHANNEL = "web"
Chat: TypeAlias = "tuple[str, str]"
"""Channel and chat id."""
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_CHARS = 36


def is_uuid(text: object) -> bool:
    """Return whether this is a UUID as a page writes it: in lower case, with dashes."""
    return isinstance(text, str) and _UUID.fullmatch(text) is not None


def chat_of(session_id: str, name: str) -> Chat:
    """Return the chat that a person's new session belongs to."""
    return CHANNEL, f"{session_id}:{name}"


def owner(chat: Chat) -> str | None:
    """Return the name of the person whose chat it is; None for a chat of another channel."""
    channel, chat_id = chat
    if channel != CHANNEL or not is_uuid(chat_id[:_CHARS]) or chat_id[_CHARS : _CHARS + 1] != ":":
        return None
    return chat_id[_CHARS + 1 :]


def is_mine(who: Identity, chat: Chat) -> bool:
    """Return whether the person may write in the chat."""
    return owner(chat) is not None and who.owns(*chat)


def may_see(who: Identity, chat: Chat) -> bool:
    """Return whether the person may see the chat: their own, and the operator every one."""
    return who.is_operator or is_mine(who, chat)


def visible(who: Identity, row: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the stored session, or whatever has ``channel`` and ``chat_id``, if the person may see
    it. Raises :class:`Problem` (404) if there is none, or it is not theirs."""
    if row is None or not may_see(who, (row["channel"], row["chat_id"])):
        raise Problem(404, "not_found", "There is no such chat.", "Look for it under Sessions.")
    return row
