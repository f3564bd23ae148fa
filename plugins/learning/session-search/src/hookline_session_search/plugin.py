"""The plugin: the tool ``session_search``, and when the index is brought up to date."""

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
from hookline_hookspecs.importers import SearchIndex

from .index import AT_ONCE, Index

if TYPE_CHECKING:
    from .search import Found, Wanted
    from .tokens import Query

HITS, MOST, MOST_AROUND = 5, 20, 5
"""Messages of one answer, and neighbours on each side of one (FEATURES, session-search)."""
HOUR, DAY = 3600.0, 86400.0
DELAY = 1.0
"""Seconds after a turn for which indexing waits for others, out of the next turn's way."""


class SessionSearch(Plugin):
    """Finds what was said in earlier conversations."""

    _index: Index
    _filling: asyncio.Task[None] | None = None
    _timer: asyncio.TimerHandle | None = None

    @hookimpl
    def setup(self, host: Host) -> None:
        """Set up the plugin's storage, which is opened on first use, and offer the index to who
        moves conversations in."""
        self._index = Index(lambda: host.storage)
        host.services.add(SearchIndex, self)

    async def catch_up(self) -> None:
        """Index everything that is stored."""
        while not await self._index.catch_up(1):
            pass  # other writes run in between: each batch waits for its turn

    @hookimpl
    def register_jobs(self, register: Callable[[Job], None]) -> None:
        """Index what is missing even if there are no turns, and remove lost rows."""
        register(Job("index", self._tidy, HOUR, at_start=True))
        register(Job("sweep", self._sweep, DAY))

    @hookimpl
    def teardown(self, host: Host) -> None:
        """Stop waiting: a search, or the next process, indexes what is missing."""
        if self._timer is not None:
            self._timer.cancel()

    @hookimpl
    def end_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Index what was said a moment later, with what other turns say until then; a search
        before that indexes it first."""
        if ctx.session.kind == "chat" and self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(DELAY, self._index_now)

    def _index_now(self) -> None:
        self._timer = None
        self.host.spawn(self._tidy(), "index")

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
        """Find messages of earlier conversations that hold every word of the query.

        Args:
            since: day (2026-01-31) or age (7d)
            around: messages shown before and after each
        """
        from .search import Wanted
        from .since import moment
        from .tokens import query as read_query

        if scope == "all" and not ctx.operator:
            raise Refused("only the operator may search all chats; search with scope=chat")
        most = HITS if limit is None else limit
        if most < 1 or around < 0:
            raise ToolError("limit is 1 to 20 and around 0 to 5")
        words = read_query(query)
        if not words.match:
            raise ToolError("the query holds nothing to look for; write a word")
        chat = None if scope == "all" else (ctx.session.channel, ctx.session.chat_id)
        begin = moment(since, ctx.host.now())
        own = len(ctx.turn.messages)
        wanted = Wanted(words, query, chat, begin, min(most, MOST), ctx.turn.id, own)
        return await self._answer(wanted, min(around, MOST_AROUND))

    async def _answer(self, wanted: Wanted, around: int) -> ToolOutput:
        from .search import search, shown

        storage = self.host.storage
        likeness = self.host.services.get(SemanticIndex)
        found = await search(storage, self._index, wanted, likeness)
        if not found.complete:
            self._fill_on()
        hits = await shown(storage, found, wanted.query.words, around)
        where = "this chat" if wanted.chat else "any chat"
        text = hits.text or f"No message of {where} holds all of that."
        notes = _notes(found, wanted.query)
        return ToolOutput(text, notes=notes, data=hits.data, origins=hits.origins)

    async def _tidy(self) -> None:
        if not await self._index.catch_up(AT_ONCE):
            self._fill_on()
        await self._index.forget_words()

    async def _sweep(self) -> None:
        await self._index.sweep()

    def _fill_on(self) -> None:
        """Continue in the background; the next process does what this one does not finish."""
        if self._filling is None or self._filling.done():
            self._filling = self.host.spawn(self._fill(), "back-fill")

    async def _fill(self) -> None:
        await self.catch_up()


def _notes(found: Found, query: Query) -> tuple[str, ...]:
    from .tokens import MOST_WORDS

    notes = []
    if not found.complete:
        notes.append("older messages are still being indexed; they can be found in a while")
    if query.left_out:
        notes.append(f"the query is long; only its first {MOST_WORDS} words were looked for")
    return tuple(notes)
