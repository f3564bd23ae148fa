"""Stores texts for a chat for a limited time, and reads parts of them."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hookline_hookspecs import (
    Context,
    Origin,
    Refused,
    Storage,
    ToolError,
    Transaction,
    merge_origins,
    origins_from_json,
    origins_to_json,
)

ROW_CHARS = 100_000
"""Code points in one row."""
ID_CHARS = 16
"""Hexadecimal digits of an id: 64 bits, so that no two texts of a home share one."""


@dataclass(frozen=True, slots=True)
class StoredText:
    """A stored text: its id, its length in code points, and its origins."""

    id: str
    chars: int
    origins: tuple[Origin, ...] = ()


class ArtifactStore:
    """Stores texts for a chat, each under an id derived from the chat and the text.

    Args:
        storage: returns the plugin's own storage; called on first use.
        now: the clock, Unix time in seconds.
        ttl: seconds for which a text is kept after it was last stored.
    """

    def __init__(
        self, storage: Callable[[], Storage], now: Callable[[], float], ttl: float
    ) -> None:
        self._storage = storage
        self._now = now
        self._ttl = ttl

    async def keep(self, ctx: Context, text: str, origins: Sequence[Origin] | None = None) -> str:
        """Store ``text`` for the chat of ``ctx`` and return its id.

        An equal text keeps its id, with the origins of both. Without ``origins``, the text gets
        those of all that the session has read.

        Raises:
            StoreError: it could not be stored.
        """
        channel, chat_id = ctx.session.channel, ctx.session.chat_id
        id_, parts = await asyncio.to_thread(_id_and_rows, channel, chat_id, text)
        row = {"id": id_, "channel": channel, "chat_id": chat_id, "chars": len(text)}
        now = self._now()
        new_origins = ctx.origins if origins is None else origins

        def write(store: Transaction) -> None:
            _delete_expired(store, now)
            known = store.fetch("origins_of", id=id_)
            before = _origins(known[0]["origins"]) if known else ()
            merged = json.dumps(origins_to_json(merge_origins(before, new_origins)))
            if store.execute("renew", id=id_, expires=now + self._ttl, origins=merged):
                return
            store.execute("add_text", **row, expires=now + self._ttl, origins=merged)
            for number, body in enumerate(parts):
                store.execute("add_part", id=id_, place=number * ROW_CHARS, body=body)

        await self._storage().transact(write)
        return id_

    async def find(self, ctx: Context, id_: str) -> StoredText:
        """Return the text ``id_`` of this chat.

        Raises:
            ToolError: it does not exist or has expired.
            Refused: it belongs to another chat.
        """
        rows = await self._storage().fetch("text_of", id=id_, now=self._now())
        if not rows:
            raise ToolError(
                f"there is no artifact {id_!r}: a text is stored for {self._ttl / 3600:g} hours; "
                "call the tool again that returned it"
            )
        if (rows[0]["channel"], rows[0]["chat_id"]) != (ctx.session.channel, ctx.session.chat_id):
            raise Refused(f"the artifact {id_!r} belongs to another chat")
        return StoredText(id_, rows[0]["chars"], _origins(rows[0]["origins"]))

    async def find_with_chat(self, id_: str) -> tuple[str, str, StoredText] | None:
        """Return a text with the channel and the chat that it belongs to, or None."""
        rows = await self._storage().fetch("text_of", id=id_, now=self._now())
        if not rows:
            return None
        row = rows[0]
        return (
            row["channel"],
            row["chat_id"],
            StoredText(id_, row["chars"], _origins(row["origins"])),
        )

    async def read(self, stored: StoredText, start: int, stop: int) -> str:
        """Return the code points from ``start`` up to ``stop`` (exclusive)."""
        rows = await self._storage().fetch(
            "parts_of", id=stored.id, after=start - ROW_CHARS, before=stop
        )
        if not rows:
            return ""
        text = "".join(json.loads(row["body"]) for row in rows)
        first = rows[0]["place"]
        return text[start - first : stop - first]

    async def delete_expired(self) -> None:
        """Delete expired texts."""
        now = self._now()
        await self._storage().transact(lambda store: _delete_expired(store, now))


def _delete_expired(store: Transaction, now: float) -> None:
    store.execute("forget_parts", now=now)
    store.execute("forget_texts", now=now)


def _origins(column: str | None) -> tuple[Origin, ...]:
    return origins_from_json(json.loads(column or "[]"))


def _id_and_rows(channel: str, chat_id: str, text: str) -> tuple[str, list[str]]:
    """Return the id and the rows of a text; CPU-bound, for texts of up to 100 MB."""
    digest = hashlib.sha256(json.dumps([channel, chat_id]).encode())
    parts = []
    for start in range(0, len(text), ROW_CHARS):
        part = text[start : start + ROW_CHARS]
        digest.update(part.encode("utf-8"))
        parts.append(json.dumps(part, ensure_ascii=False))
    return digest.hexdigest()[:ID_CHARS], parts
