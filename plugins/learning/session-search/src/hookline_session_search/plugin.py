"""The plugin: the tool ``session_search``, and when messages are indexed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from hookline_hookspecs import (
    Context,
    Host,
    Job,
    Plugin,
    Refused,
    SemanticIndex,
    ToolError,
    ToolOutput,
    Turn,
    hookimpl,
    tool,
)
from hookline_hookspecs.conversation_search import ConversationSearch
from hookline_hookspecs.importers import SearchIndex

from .index import MAX_BATCHES_PER_SEARCH, MessageIndex
from .message_search import MessageSearch

if TYPE_CHECKING:
    from .search import SearchRequest, SearchResult
    from .tokens import SearchQuery

DEFAULT_LIMIT = 5
MAX_LIMIT = 20
"""Messages of one answer."""
MAX_AROUND = 5
"""Messages shown before and after a hit."""
INDEX_INTERVAL = 3600.0
SWEEP_INTERVAL = 86_400.0
INDEX_DELAY = 1.0
"""Seconds after a turn before messages are indexed, so that the next turn comes first."""


class SessionSearch(Plugin):
    """Searches earlier conversations."""

    _index: MessageIndex
    _indexing: asyncio.Task[None] | None = None
    _timer: asyncio.TimerHandle | None = None

    @hookimpl
    def setup(self, host: Host) -> None:
        """Create the index, and provide it to plugins that import or search conversations."""
        self._index = MessageIndex(lambda: host.storage)
        host.services.add(SearchIndex, self)
        host.services.provide(ConversationSearch, MessageSearch(host, self._index))

    async def catch_up(self) -> None:
        """Index all stored messages."""
        while not await self._index.catch_up(1):
            pass  # other writers get their turn between batches

    @hookimpl
    def register_jobs(self, register: Callable[[Job], None]) -> None:
        """Register the jobs that index missing messages and remove orphaned rows."""
        register(Job("index", self._catch_up, INDEX_INTERVAL, at_start=True))
        register(Job("sweep", self._sweep, SWEEP_INTERVAL))

    @hookimpl
    def teardown(self, host: Host) -> None:
        """Cancel the timer: a search or the next process indexes what is missing."""
        if self._timer is not None:
            self._timer.cancel()

    @hookimpl
    def end_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Index the turn's messages a moment later; a search before that indexes them first."""
        if ctx.session.kind == "chat" and self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(INDEX_DELAY, self._index_now)

    def _index_now(self) -> None:
        self._timer = None
        self.host.spawn(self._catch_up(), "index")

    @tool(read_only=True, paged=True, origin="workspace")
    async def session_search(
        self,
        ctx: Context,
        query: str,
        scope: Literal["chat", "all"] | None = None,
        since: str | None = None,
        limit: int | None = None,
        around: int = 0,
    ) -> ToolOutput:
        """Find messages of earlier conversations with all words of the query. OR works.

        Args:
            since: day (2026-01-31) or age (7d)
            around: messages shown before and after each
        """
        from .search import SearchRequest
        from .time_parser import parse_since
        from .tokens import parse_query

        if scope == "all" and not ctx.operator:
            raise Refused("only the operator may search all chats; search with scope=chat")
        count = DEFAULT_LIMIT if limit is None else limit
        if count < 1 or around < 0:
            raise ToolError("limit must be 1 to 20, and around 0 to 5")
        words = parse_query(query)
        if not words.groups:
            raise ToolError("the query has no words")
        chat = None if scope == "all" else (ctx.session.channel, ctx.session.chat_id)
        begin = parse_since(since, ctx.host.now())
        own = len(ctx.turn.messages)
        request = SearchRequest(words, query, chat, begin, min(count, MAX_LIMIT), ctx.turn.id, own)
        return await self._answer(request, min(around, MAX_AROUND))

    async def _answer(self, request: SearchRequest, around: int) -> ToolOutput:
        from .search import render_hits, search, search_any_word
        from .tokens import in_pairs

        query = request.query
        storage = self.host.storage
        semantic = self.host.services.get(SemanticIndex)
        found = await search(storage, self._index, request, semantic)
        if not found.hits and (len(query.groups) > 1 or in_pairs(query) != query):
            found = await search_any_word(storage, self._index, request)
        if not found.complete:
            self._continue_indexing()
        hits = await render_hits(storage, found, around)
        where = "this chat" if request.chat else "any chat"
        text = hits.text or f"No message of {where} contains all of that."
        notes = _notes(found, query, where)
        return ToolOutput(text, notes=notes, data=hits.data, origins=hits.origins)

    async def _catch_up(self) -> None:
        if not await self._index.catch_up(MAX_BATCHES_PER_SEARCH):
            self._continue_indexing()
        await self._index.forget_words()

    async def _sweep(self) -> None:
        await self._index.sweep()

    def _continue_indexing(self) -> None:
        """Continue in the background; the next process does what this one cannot finish."""
        if self._indexing is None or self._indexing.done():
            self._indexing = self.host.spawn(self._index_rest(), "back-fill")

    async def _index_rest(self) -> None:
        await self.catch_up()


def _names(query: SearchQuery) -> list[str]:
    return [" OR ".join(group) for group in query.groups]


def _notes(found: SearchResult, query: SearchQuery, where: str) -> tuple[str, ...]:
    from .tokens import MAX_WORDS

    notes = []
    if found.partial:
        everywhere = set.intersection(*(set(hit.missing) for hit in found.hits))
        missing = [word for word in _names(query) if word in everywhere]
        note = f"no message of {where} contains all of that; these contain some of the words"
        notes.append(f"{note}, none contains {', '.join(missing)}" if missing else note)
    if not found.complete:
        notes.append("older messages are still being indexed; search again later")
    if query.left_out:
        notes.append(f"the query is long; only its first {MAX_WORDS} words were used")
    return tuple(notes)
