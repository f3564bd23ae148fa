"""``prompt_cache_key``: what makes a server send requests with one prefix to one machine."""

from __future__ import annotations

import hashlib

from hookline_hookspecs import BadRequest, Session, WireRequest

FIELD = "prompt_cache_key"


def cache_key(wire: WireRequest, session: Session) -> str:
    """A key of 41 characters for the stable prompt and the chat.

    Sessions of a chat share what they share of their beginning. It is a digest, so that it tells
    nobody who the chat is with.
    """
    digest = hashlib.sha256()
    for text in (session.channel, session.chat_id):
        digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
    for name in ("tools", "system"):
        digest.update(wire.stable.get(name, b"") + b"\0")
    return f"hookline-{digest.hexdigest()[:32]}"


def refuses_key(error: BadRequest) -> bool:
    """True if the server said that it does not know the field."""
    return FIELD in str(error)
