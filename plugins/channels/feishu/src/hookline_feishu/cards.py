"""Creates and updates cards, and remembers which messages are cards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hookline_channelkit import MessageGone, NotModified, SendOptions
from hookline_hookspecs import Choice, Host

from .api import Api, Json
from .renderer import ANSWER_ELEMENT, card_content, escape_text


class Cards:
    """Stores a record for each card in ``host.storage.kv``.

    The key is ``card:`` with the message's id, or with the token of an unsent message, so that
    another attempt uses the same card.
    """

    def __init__(self, host: Host, api: Api) -> None:
        self._kv, self._api = host.storage.kv, api

    async def make(self, text: str, post: SendOptions) -> Json:
        """Create a card for a streamed answer, or return that of an earlier attempt."""
        record = await self.kept(post.token)
        if record is None:
            body = {"type": "card_json", "data": card_content(text, live=True)}
            made = await self._api.ask("POST", "/cardkit/v1/cards", body)
            record = {"card": made["card_id"], "reply_to": post.reply_to}
            await self.keep(post.token, record)
        return dict(record)

    async def grow(self, record: Json, text: str, post: SendOptions) -> None:
        """Show more text. A card that Feishu has closed waits for its last edit."""
        path = f"/cardkit/v1/cards/{record['card']}/elements/{ANSWER_ELEMENT}/content"
        words = text if post.rich else escape_text(text)
        try:
            body: Json = {"content": words or " ", "sequence": post.sequence}
            await self._api.change("PUT", path, body)
        except MessageGone as error:
            raise NotModified(str(error)) from None

    async def finish(
        self, chat: str, message: str, record: Json, text: str, post: SendOptions
    ) -> None:
        """Show the whole text, close the card, and add its buttons."""
        record |= {"text": text, "rich": post.rich, "sequence": post.sequence}
        await self._draw(chat, message, record, post.choices)
        await (self.keep(message, record) if post.choices else self.forget(message))

    async def remove_buttons(self, chat: str, message: str) -> None:
        """Remove the buttons of a card."""
        if "text" in (record := await self.kept(message) or {}):
            record["sequence"] = record.get("sequence", 0) + 1
            await self._draw(chat, message, record, ())
            await self.forget(message)

    async def _draw(self, chat: str, message: str, record: Json, choices: Sequence[Choice]) -> None:
        made = card_content(record["text"], rich=record["rich"], choices=choices, chat=chat)
        if "card" in record:
            body: Json = {"card": {"type": "card_json", "data": made}}
            body |= {"sequence": record["sequence"]}
            await self._api.change("PUT", f"/cardkit/v1/cards/{record['card']}", body)
        else:
            await self._api.change("PATCH", f"/im/v1/messages/{message}", {"content": made})

    async def kept(self, name: str) -> Any:
        """Return the record of a card; None for a post."""
        return await self._kv.get(f"card:{name}") if name else None

    async def keep(self, name: str, record: Json) -> None:
        """Remember a card."""
        if name:
            await self._kv.set(f"card:{name}", record)

    async def forget(self, name: str) -> None:
        """Delete the record of a card that no longer changes."""
        await self._kv.delete(f"card:{name}")
