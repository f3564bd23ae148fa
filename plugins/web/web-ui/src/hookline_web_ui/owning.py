"""Whose a session is: the one check for sessions, files and questions.

A person's chat on the page has their name as its id, so that what is learnt in one conversation is
known in the next. Each conversation is a session of that chat, whose id is the UUID that the page
made; the sessions that follow it, as after a long pause, are ``UUID~2`` and so on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from hookline_hookspecs.web import Identity, Problem

CHANNEL = "web"
Chat: TypeAlias = "tuple[str, str]"
"""Channel and chat id."""
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_SUCCESSOR = re.compile(r"~\d+$")


def is_uuid(text: object) -> bool:
    """Return whether this is a UUID as a page writes it: in lower case, with dashes."""
    return isinstance(text, str) and _UUID.fullmatch(text) is not None


def conversation(session_id: str) -> str:
    """Return the id of the first session of a conversation: the page goes on in its successors."""
    return _SUCCESSOR.sub("", session_id)


def chat_of(name: str) -> Chat:
    """Return a person's chat."""
    return CHANNEL, name


def owner(chat: Chat) -> str | None:
    """Return the name of the person whose chat it is; None for a chat of another channel."""
    channel, chat_id = chat
    return chat_id if channel == CHANNEL and chat_id else None


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
        raise Problem(404, "not_found", "Chat not found.", "Find it under Sessions.")
    return row
