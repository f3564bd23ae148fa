"""Who owns a session: the one check for sessions, files and questions.

A person's chat on the page has their name as its id, so that memory is shared by all their
conversations. Each conversation is a session of that chat; its id is a UUID made by the page. The
sessions that follow it, for example after a long pause, are ``UUID~2`` and so on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from hookline_hookspecs.web import Identity, Problem, t

CHANNEL = "web"
Chat: TypeAlias = "tuple[str, str]"
"""Channel and chat id."""
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_SUCCESSOR = re.compile(r"~\d+$")


def is_uuid(text: object) -> bool:
    """Return whether this is a UUID in lower case, with dashes."""
    return isinstance(text, str) and _UUID.fullmatch(text) is not None


def conversation(session_id: str) -> str:
    """Return the id of the first session of a conversation, given any of its sessions."""
    return _SUCCESSOR.sub("", session_id)


def chat_of(name: str) -> Chat:
    """Return a person's chat."""
    return CHANNEL, name


def owner(chat: Chat) -> str | None:
    """Return the name of the person who owns a chat; None for a chat of another channel."""
    channel, chat_id = chat
    return chat_id if channel == CHANNEL and chat_id else None


def is_mine(who: Identity, chat: Chat) -> bool:
    """Return whether the person may write in the chat."""
    return owner(chat) is not None and who.owns(*chat)


def may_see(who: Identity, chat: Chat) -> bool:
    """Return whether the person may see the chat; the operator may see all."""
    return who.is_operator or is_mine(who, chat)


def visible(who: Identity, row: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return ``row``, which has ``channel`` and ``chat_id``, if the person may see it.

    Raises:
        Problem: 404 if it is None or not theirs.
    """
    if row is None or not may_see(who, (row["channel"], row["chat_id"])):
        raise Problem(404, "not_found", t("Chat not found."), t("Find it under Sessions."))
    return row
