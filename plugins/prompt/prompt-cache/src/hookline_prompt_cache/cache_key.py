"""``prompt_cache_key``: routes requests with the same prefix to the same machine of a provider."""

from __future__ import annotations

import hashlib

from hookline_hookspecs import BadRequest, Session, WireRequest

FIELD = "prompt_cache_key"


def cache_key(wire: WireRequest, session: Session) -> str:
    """Return a key of 41 characters for the stable prompt and the chat.

    Sessions of a chat with the same stable prompt share it. It is a digest, so that it does not
    reveal the chat.
    """
    digest = hashlib.sha256()
    for text in (session.channel, session.chat_id):
        digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
    for name in ("tools", "system"):
        digest.update(wire.stable.get(name, b"") + b"\0")
    return f"hookline-{digest.hexdigest()[:32]}"


def is_key_refused(error: BadRequest) -> bool:
    """Return whether the server rejected the field as unknown."""
    return FIELD in str(error)
