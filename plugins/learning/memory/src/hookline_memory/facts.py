"""Stores and finds facts: rows that belong to one chat.

:class:`FactWriter` saves and deletes within a transaction; :class:`FactStore` reads and searches.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import Host, Origin, SemanticIndex, Transaction
from hookline_hookspecs.caching import RowCache, changes
from hookline_hookspecs.chat_files import Chat
from hookline_hookspecs.stored_origins import is_outside

from .errors import AmbiguousMatch, InvalidOperation, NoMatch
from .fact import Fact
from .origins import load_note_origins
from .text import count_of, one_line

if TYPE_CHECKING:
    from .ranking import RankedFact

CATEGORIES = ("profile", "knowledge", "event")
MAX_CANDIDATES = 24
"""Facts of the index that are ranked."""
MAX_POSTINGS = 500.0
"""Sum of the occurrences of the terms that are looked up, the rarest first: a term that occurs in
most facts is expensive and says little."""
MAX_COMPARED = 50
"""Facts with words of a new one that may contradict it."""
MAX_DOUBTFUL = 3
"""Facts that are shown as contradicted by a new one."""
DUPLICATE_TERMS = 8
"""Terms used to find a duplicate of a fact."""
MAX_QUERY_CHARS = 4_000
"""Characters of a query that are used, from its start and its end."""
REPEAT_CONFIDENCE_BONUS = 0.1
"""Added to a fact's confidence when it is learned again."""


CORPUS = "memory"
"""The name of the corpus for semantic search."""


def scope_of(chat: Chat) -> str:
    """The scope of a chat's facts in semantic search."""
    return f"{chat.channel}\n{chat.chat_id}"


def chat_mark(chat: Chat) -> str:
    """Return the term that marks a chat's facts in the index."""
    text = json.dumps([chat.channel, chat.chat_id])
    return f"c{hashlib.sha256(text.encode()).hexdigest()[:24]}"


class FactStore:
    """Reads and searches the stored facts."""

    name = CORPUS

    def __init__(self, host: Host) -> None:
        self._host = host
        self._counts: RowCache[Chat, int] = RowCache(host)
        self._note_origins: RowCache[str, dict[str, tuple[Origin, ...]]] = RowCache(host)

    def invalidate_cache(self) -> None:
        """Drop cached rows; call it before and after each writing transaction."""
        self._counts.forget()
        self._note_origins.forget()

    async def note_origins(self, file: str) -> dict[str, tuple[Origin, ...]]:
        """Return the origins of a file's notes by :func:`.origins.note_key`."""
        return await self._note_origins.get(file, lambda: load_note_origins(self._host, file))

    async def of_chat(self, chat: Chat) -> list[Fact]:
        """Return the facts of a chat that have not expired, oldest first."""
        rows = await self._host.storage.fetch("facts_of_chat", **asdict(chat), now=self._host.now())
        return [Fact.of(row) for row in rows]

    async def all(self) -> list[Mapping[str, Any]]:
        """Return all facts of all chats with the numbers of their turns, by chat and age."""
        return list(await self._host.storage.fetch("all_facts", now=self._host.now()))

    async def find(self, chat: Chat, text: str, half_life_days: float) -> list[RankedFact]:
        """Return the facts of ``chat`` that match ``text``, best first: by their words and, with a
        plugin for it, by their meaning."""
        if await self._has_none(chat):
            return []
        now = self._host.now()
        found = await self._by_words(chat, text, now, half_life_days)
        semantic = self._host.services.get(SemanticIndex)
        if semantic is None:
            return found
        near = await semantic.nearest(CORPUS, text, scope=scope_of(chat), limit=MAX_CANDIDATES)
        if not near:
            return found
        from .ranking import merge_rankings

        rows = await self._host.storage.fetch(
            "facts_by_id", ids=json.dumps([int(key) for key in near]), **asdict(chat), now=now
        )
        similar = {Fact.of(row): near[str(row["id"])] for row in rows}
        return merge_rankings(found, similar, now, half_life_days)

    async def entries(self) -> list[tuple[str, str, str]]:
        """Return all facts for semantic search (:class:`hookline_hookspecs.SearchableCorpus`)."""
        return [
            (str(row["id"]), scope_of(Chat(row["channel"], row["chat_id"])), row["content"])
            for row in await self.all()
        ]

    async def notify_semantic_index(self, changes: Sequence[Mapping[str, Any]]) -> None:
        """Report changed facts to the semantic index; deleted ones are erased from it."""
        semantic = self._host.services.get(SemanticIndex)
        facts = [change for change in changes if change["kind"] == "fact"]
        if semantic is None or not facts:
            return
        deleted = [str(fact["before"]["id"]) for fact in facts if fact["before"] is not None]
        await semantic.forget(CORPUS, deleted)
        semantic.changed(CORPUS)

    async def _by_words(
        self, chat: Chat, text: str, now: float, half_life_days: float
    ) -> list[RankedFact]:
        from .ranking import FactQuery
        from .terms import terms

        query = FactQuery.of(terms(_start_and_end(text)))
        if not query.terms:
            return []
        storage = self._host.storage
        found = await storage.fetch(
            "frequencies", terms=json.dumps([chat_mark(chat), *query.keys()])
        )
        known = {row["term"]: row["facts"] for row in found}
        in_chat = known.pop(chat_mark(chat), 0)
        if not in_chat or not known:
            return []
        # The counts are over all chats; scaled down, a term common elsewhere is not common here.
        share = in_chat / max(in_chat, found[0]["total"])
        query = query.weighed({key: count * share for key, count in known.items()}, in_chat)
        rows = await storage.fetch(
            "candidates",
            **_candidate_arguments(chat, query.rarest(MAX_POSTINGS), every=False),
            **asdict(chat),
            now=now,
            limit=MAX_CANDIDATES,
        )
        ranked = [query.rank(Fact.of(row), now, half_life_days) for row in rows]
        return sorted(ranked, key=lambda fact_rank: (-fact_rank.score, -fact_rank.fact.created))

    async def _has_none(self, chat: Chat) -> bool:
        """True if the cache knows that a chat has no facts."""

        async def count() -> int:
            rows = await self._host.storage.fetch("count_of_chat", **asdict(chat))
            return int(rows[0]["facts"])

        # Without a change counter nothing is cached, and counting would cost a read in every turn.
        if changes(self._host.storage) is None:
            return False
        return await self._counts.get(chat, count) == 0


class FactWriter:
    """Changes facts within one transaction; ``changes`` collects them for the log.

    ``contradicted`` are the facts that those remembered contradict, as they were before.
    """

    def __init__(self, db: Transaction, chat: Chat, now: float) -> None:
        self._db = db
        self._chat = chat
        self._now = now
        self.changes: list[dict[str, Any]] = []
        self.contradicted: list[Fact] = []

    def remember(self, fact: Fact, max_facts: int, *, compare: bool = True) -> str:
        """Save ``fact``, or update its duplicate; return a sentence about it.

        With ``compare``, it replaces a fact that it makes outdated. If the chat then has more than
        ``max_facts``, the weakest is deleted.
        """
        duplicate = self._find_duplicate(fact.content)
        if duplicate is None:
            return self._add(fact, max_facts, compare)
        old, wider = duplicate
        confidence = round(
            min(1.0, max(old.confidence, fact.confidence) + REPEAT_CONFIDENCE_BONUS), 2
        )
        new = replace(fact, id=old.id, confidence=confidence)
        if not wider:  # its words stay; a person who repeats them vouches for them, a page does not
            origins = old.origins if is_outside(new.origins) else new.origins
            new = replace(new, content=old.content, origins=origins)
        self._change(old, new, "update")
        return "Remembered; it replaces a shorter fact." if wider else "Already known."

    def _add(self, fact: Fact, max_facts: int, compare: bool) -> str:
        """Save a new fact, in place of one that it makes outdated."""
        outdated, doubtful = self._find_contradicted(fact) if compare else (None, [])
        new = replace(fact, id=outdated.id if outdated else next_number(self._db, "fact"))
        self._change(outdated, new, "replace" if outdated else "remember")
        self._delete_weakest(max_facts)
        self.contradicted += [outdated] if outdated else doubtful
        if outdated is not None:
            return "Remembered; it replaces an outdated fact."
        if doubtful:
            return "Remembered. Forget what no longer holds of the facts that it contradicts."
        return "Remembered."

    def _find_contradicted(self, new: Fact) -> tuple[Fact | None, list[Fact]]:
        """Return the fact that ``new`` makes outdated, else those that it makes doubtful.

        What a person said is never outdated by what a page says.
        """
        from .contradictions import Contradiction, compare_claims
        from .terms import STEM_MARK, terms

        keys = list(dict.fromkeys(f"{STEM_MARK}{term.stem}" for term in terms(new.content)))
        if not keys:
            return None, []
        rows = self._db.fetch(
            "candidates",
            **_candidate_arguments(self._chat, keys, every=False),
            **asdict(self._chat),
            now=self._now,
            limit=MAX_COMPARED,
        )
        doubtful = []
        for old in map(Fact.of, rows):
            verdict = compare_claims(old.content, new.content)
            trusted = is_outside(old.origins) or not is_outside(new.origins)
            if verdict is Contradiction.OUTDATED and trusted:
                return old, []
            if verdict is not None:
                doubtful.append(old)
        return None, doubtful[:MAX_DOUBTFUL]

    def has_duplicate(self, content: str) -> bool:
        """True if a fact of the chat says the same as ``content``."""
        return self._find_duplicate(content) is not None

    def forget(self, old_text: str) -> str:
        """Delete the one fact that matches ``old_text``, or ``#ID``.

        Raises:
            NoMatch: there is none.
            AmbiguousMatch: there are several.
        """
        facts = self._live()
        found = _match_facts(facts, old_text)
        if not found:
            latest = [fact.content for fact in facts[-3:]]
            raise NoMatch(
                f"no fact of this chat contains `{one_line(old_text, 60)}`; the latest are", latest
            )
        if len(found) > 1:
            raise AmbiguousMatch(
                f"{count_of(len(found), 'fact')} contain `{one_line(old_text, 60)}`; "
                "give more text",
                [fact.content for fact in found],
            )
        self._change(found[0], None, "forget")
        return "Forgotten."

    def revert(self, old: Fact | None, new: Fact | None) -> None:
        """Change ``new`` back to ``old``.

        Raises:
            InvalidOperation: the stored fact is no longer ``new``, or ``old`` has expired.
        """
        number = (old or new).id  # type: ignore[union-attr]
        rows = self._db.fetch("fact", id=number, now=self._now)
        if (Fact.of(rows[0]) if rows else None) != new:
            raise InvalidOperation(f"fact {number} was changed or deleted since")
        if old is not None and old.expires_at is not None and old.expires_at <= self._now:
            raise InvalidOperation(f"fact {number} has expired")
        self._change(new, old, "undo")

    def _change(self, old: Fact | None, new: Fact | None, op: str) -> None:
        if old is not None:
            self._db.execute("delete_fact", id=old.id)
            self._db.execute("unindex_fact", id=old.id)
        if new is not None:
            self._db.execute("add_fact", **new.to_row())
            chat = Chat(new.channel, new.chat_id)
            from .terms import index_terms

            terms_ = index_terms(new.content)
            self._db.execute("index_fact", id=new.id, chat=chat_mark(chat), terms=terms_)
        before, after = (fact.to_json() if fact else None for fact in (old, new))
        self.changes.append({"kind": "fact", "op": op, "before": before, "after": after})

    def _live(self) -> list[Fact]:
        rows = self._db.fetch("facts_of_chat", **asdict(self._chat), now=self._now)
        return [Fact.of(row) for row in rows]

    def _find_duplicate(self, content: str) -> tuple[Fact, bool] | None:
        """Return a fact that says the same as ``content``, and whether ``content`` says more."""
        from .duplicates import common_words, compare_facts
        from .terms import terms

        keys = [term.word for term in terms(common_words(content))][:DUPLICATE_TERMS]
        if keys:
            rows = self._db.fetch(
                "candidates",
                **_candidate_arguments(self._chat, keys, every=True),
                **asdict(self._chat),
                now=self._now,
                limit=MAX_CANDIDATES,
            )
            near = [Fact.of(row) for row in rows]
        else:  # no term of it is indexed
            near = self._live()
        for fact in near:
            verdict = compare_facts(fact.content, content)
            if verdict is not None:
                return fact, verdict
        return None

    def _delete_weakest(self, max_facts: int) -> None:
        count = self._db.fetch("count_of_chat", **asdict(self._chat))[0]["facts"]
        if count <= max_facts:
            return
        live = self._live()[:-1]  # keep the one just learned
        weakest = sorted(live, key=lambda f: (f.category == "profile", f.confidence, f.created))
        for fact in weakest[: count - max_facts]:
            self._change(fact, None, "faded")


def next_number(db: Transaction, name: str) -> int:
    """Return the next unused number of ``fact`` or ``log``."""
    db.execute("next_number", name=name)
    number: int = db.fetch("last_number", name=name)[0]["last"]
    return number


def _match_facts(facts: Sequence[Fact], text: str) -> list[Fact]:
    """The facts with this id, text, part of the text, or part ignoring letter case."""
    number = text.strip().removeprefix("#")
    if text.strip().startswith("#") and number.isdecimal():
        return [fact for fact in facts if fact.id == int(number)]
    flat = " ".join(text.split())
    folded = flat.casefold()
    for matches in (
        lambda content: content == flat,
        lambda content: flat in content,
        lambda content: folded in content.casefold(),
    ):
        found = [fact for fact in facts if flat and matches(fact.content)]
        if found:
            return found
    return []


def _candidate_arguments(chat: Chat, keys: Sequence[str], *, every: bool) -> dict[str, Any]:
    """Arguments of the query ``candidates`` for facts of ``chat`` with any or every key.

    They are a query for FTS5, and its parts for PostgreSQL. ``keys`` have no blanks or quotes.
    """
    words = (" AND " if every else " OR ").join(f'"{key}"' for key in keys)
    mark = chat_mark(chat)
    query = f'chat : "{mark}" AND terms : ({words})'
    return {"query": query, "mark": mark, "words": " ".join(keys), "every": every}


def _start_and_end(text: str) -> str:
    if len(text) <= MAX_QUERY_CHARS:
        return text
    return f"{text[: MAX_QUERY_CHARS // 2]} {text[-MAX_QUERY_CHARS // 2 :]}"
