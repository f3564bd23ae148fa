"""The search for other plugins (service ``ConversationSearch``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline_hookspecs import Host
from hookline_hookspecs.chat_files import Chat
from hookline_hookspecs.conversation_search import FoundMessage

from .index import MessageIndex

if TYPE_CHECKING:
    from .search import Hit


class MessageSearch:
    """Finds messages by their words."""

    def __init__(self, host: Host, index: MessageIndex) -> None:
        self._host = host
        self._index = index

    async def query(
        self,
        text: str,
        *,
        scope: Chat | None,
        any_word: bool = False,
        since: float = 0.0,
        limit: int = 5,
    ) -> list[FoundMessage]:
        """Return the messages that contain the words, best first."""
        from .search import SearchRequest, search, search_any_word
        from .tokens import parse_query

        words = parse_query(text)
        if not words.groups or limit < 1:
            return []
        chat = None if scope is None else (scope.channel, scope.chat_id)
        request = SearchRequest(words, text, chat, since, limit)
        find = search_any_word if any_word else search
        found = await find(self._host.storage, self._index, request)
        return [await self._found_message(hit) for hit in found.hits]

    async def _found_message(self, hit: Hit) -> FoundMessage:
        from .search import find_origins, widen_span
        from .snippet import snippet

        row = hit.row
        spans: dict[str, tuple[int, int]] = {}
        widen_span(spans, {**row, "title": None}, row["seq"], 0)
        names = ("session_id", "seq", "role", "created", "channel", "chat_id")
        return FoundMessage(
            **{name: row[name] for name in names},
            snippet=snippet(row["text"], hit.words),
            missing=hit.missing,
            origins=await find_origins(self._host.storage, spans),
        )
