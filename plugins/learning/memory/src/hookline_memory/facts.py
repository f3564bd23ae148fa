"""Facts: rows that belong to one chat, found by the terms of a query or a message.

A :class:`Writer` works inside one transaction; :class:`Facts` reads.
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

from .fact import Fact
from .origins import of_notes
from .wording import Complaint, Missing, Several, counted, one_line

if TYPE_CHECKING:
    from .ranking import Ranking

CATEGORIES = ("profile", "knowledge", "event")
CANDIDATES = 24
"""How many facts from the index are ranked."""
POSTINGS = 500.0
"""The most facts in which the looked-up terms may occur, in sum: the rarest terms of the query are
used. A term that occurs in most facts is expensive and says little."""
TWIN_TERMS = 8
"""Terms used to find a fact that says the same."""
QUERY_CHARS = 4_000
"""Characters of a text that are read: its beginning and its end."""
REPEATED = 0.1
"""What learning a fact again adds to its confidence."""


CORPUS = "memory"
"""What facts are called where texts are compared by meaning."""


def scope_of(chat: Chat) -> str:
    """The scope of a chat's facts there."""
    return f"{chat.channel}\n{chat.chat_id}"


def mark_of(chat: Chat) -> str:
    """Return the word that stands for a chat in the index."""
    text = json.dumps([chat.channel, chat.chat_id])
    return f"c{hashlib.sha256(text.encode()).hexdigest()[:24]}"


class Facts:
    """The stored facts, for reading."""

    name = CORPUS

    def __init__(self, host: Host) -> None:
        self._host = host
        self._counts: RowCache[Chat, int] = RowCache(host)
        self._authors: RowCache[str, dict[str, tuple[Origin, ...]]] = RowCache(host)

    def forget_read(self) -> None:
        """Read everything again: this process writes. Call it before and after a transaction."""
        self._counts.forget()
        self._authors.forget()

    async def of_notes(self, file: str) -> dict[str, tuple[Origin, ...]]:
        """Return the origins of a file's notes, by :func:`.origins.note_key`."""
        return await self._authors.get(file, lambda: of_notes(self._host, file))

    async def of_chat(self, chat: Chat) -> list[Fact]:
        """Return every fact of a chat that has not expired, oldest first."""
        rows = await self._host.storage.fetch("facts_of_chat", **asdict(chat), now=self._host.now())
        return [Fact.of(row) for row in rows]

    async def all(self) -> list[Mapping[str, Any]]:
        """Every fact of every chat, with the number of its turn, by chat and age."""
        return list(await self._host.storage.fetch("all_facts", now=self._host.now()))

    async def find(self, chat: Chat, text: str, half_life_days: float) -> list[Ranking]:
        """Return the facts of ``chat`` that match ``text``, best first: by their words, and by
        their meaning where a plugin can tell."""
        if await self._has_none(chat):
            return []
        now = self._host.now()
        found = await self._by_words(chat, text, now, half_life_days)
        likeness = self._host.services.get(SemanticIndex)
        if likeness is None:
            return found
        near = await likeness.nearest(CORPUS, text, scope=scope_of(chat), limit=CANDIDATES)
        if not near:
            return found
        from .ranking import joined

        rows = await self._host.storage.fetch(
            "facts_by_id", ids=json.dumps([int(key) for key in near]), **asdict(chat), now=now
        )
        alike = {Fact.of(row): near[str(row["id"])] for row in rows}
        return joined(found, alike, now, half_life_days)

    async def entries(self) -> list[tuple[str, str, str]]:
        """Every fact for a comparison by meaning (:class:`hookline_hookspecs.SearchableCorpus`)."""
        return [
            (str(row["id"]), scope_of(Chat(row["channel"], row["chat_id"])), row["content"])
            for row in await self.all()
        ]

    async def tell(self, changes: Sequence[Mapping[str, Any]]) -> None:
        """Say to who compares facts by meaning what was changed; what is gone is erased there."""
        likeness = self._host.services.get(SemanticIndex)
        facts = [one for one in changes if one["kind"] == "fact"]
        if likeness is None or not facts:
            return
        gone = [str(one["before"]["id"]) for one in facts if one["before"] is not None]
        await likeness.forget(CORPUS, gone)
        likeness.changed(CORPUS)

    async def _by_words(
        self, chat: Chat, text: str, now: float, half_life_days: float
    ) -> list[Ranking]:
        from .ranking import Query
        from .terms import terms

        query = Query.of(terms(_ends_of(text)))
        if not query.terms:
            return []
        storage = self._host.storage
        found = await storage.fetch("frequencies", terms=json.dumps([mark_of(chat), *query.keys()]))
        known = {row["term"]: row["facts"] for row in found}
        here = known.pop(mark_of(chat), 0)
        if not here or not known:
            return []
        # Counted over all chats; a term common elsewhere must not count as common here.
        share = here / max(here, found[0]["total"])
        query = query.weighed({key: count * share for key, count in known.items()}, here)
        rows = await storage.fetch(
            "candidates",
            **_wanted(chat, query.rarest(POSTINGS), every=False),
            **asdict(chat),
            now=now,
            limit=CANDIDATES,
        )
        ranked = [query.rank(Fact.of(row), now, half_life_days) for row in rows]
        return sorted(ranked, key=lambda one: (-one.score, -one.fact.created))

    async def _has_none(self, chat: Chat) -> bool:
        """True if a chat is known to have no facts; False if it has some, or that is not known."""

        async def count() -> int:
            rows = await self._host.storage.fetch("count_of_chat", **asdict(chat))
            return int(rows[0]["facts"])

        if changes(self._host.storage) is None:  # counting would be another read in every turn
            return False
        return await self._counts.get(chat, count) == 0


class Writer:
    """Changes facts within one transaction; ``changes`` collects them for the log."""

    def __init__(self, db: Transaction, chat: Chat, now: float) -> None:
        self._db = db
        self._chat = chat
        self._now = now
        self.changes: list[dict[str, Any]] = []

    def remember(self, fact: Fact, most: int) -> str:
        """Add ``fact``, or replace one that says the same; return a sentence about it.

        Above ``most`` facts of the chat, the weakest is deleted.
        """
        twin = self._twin(fact.content)
        if twin is None:
            number = next_number(self._db, "fact")
            self._put(replace(fact, id=number))
            self._make_room(most)
            return "Remembered."
        old, wider = twin
        confidence = round(min(1.0, max(old.confidence, fact.confidence) + REPEATED), 2)
        new = replace(fact, id=old.id, confidence=confidence)
        if not wider:  # its words stay; whoever says them again stands for them, but no page does
            origins = old.origins if is_outside(new.origins) else new.origins
            new = replace(new, content=old.content, origins=origins)
        self._change(old, new, "update")
        return "Remembered; it replaces a fact that said less." if wider else "It was known."

    def knows(self, content: str) -> bool:
        """Return whether a fact of the chat says the same as ``content``."""
        return self._twin(content) is not None

    def forget(self, wanted: str) -> str:
        """Delete the one fact that matches ``wanted``.

        Raises:
            Complaint: there is none, or several; with the candidates.
        """
        facts = self._live()
        found = _meant(facts, wanted)
        if not found:
            latest = [fact.content for fact in facts[-3:]]
            raise Missing(
                f"no fact of this chat holds `{one_line(wanted, 60)}`; the latest are", latest
            )
        if len(found) > 1:
            raise Several(
                f"{counted(len(found), 'fact')} hold `{one_line(wanted, 60)}`; give more of it",
                [fact.content for fact in found],
            )
        self._change(found[0], None, "forget")
        return "Forgotten."

    def put_back(self, old: Fact | None, new: Fact | None) -> None:
        """Change ``new`` back to ``old``.

        Raises:
            Complaint: the stored fact is no longer ``new``, or ``old`` has expired.
        """
        number = (old or new).id  # type: ignore[union-attr]
        rows = self._db.fetch("fact", id=number, now=self._now)
        if (Fact.of(rows[0]) if rows else None) != new:
            raise Complaint(f"fact {number} has changed since, or is gone")
        if old is not None and old.expires_at is not None and old.expires_at <= self._now:
            raise Complaint(f"fact {number} has expired meanwhile")
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
            self._db.execute("index_fact", id=new.id, chat=mark_of(chat), terms=terms_)
        before, after = (fact.to_json() if fact else None for fact in (old, new))
        self.changes.append({"kind": "fact", "op": op, "before": before, "after": after})

    def _put(self, fact: Fact) -> None:
        self._change(None, fact, "remember")

    def _live(self) -> list[Fact]:
        rows = self._db.fetch("facts_of_chat", **asdict(self._chat), now=self._now)
        return [Fact.of(row) for row in rows]

    def _twin(self, content: str) -> tuple[Fact, bool] | None:
        """Return a fact that says the same as ``content``, and whether ``content`` says more."""
        from .same import same, shared
        from .terms import terms

        keys = [term.word for term in terms(shared(content))][:TWIN_TERMS]
        if keys:
            rows = self._db.fetch(
                "candidates",
                **_wanted(self._chat, keys, every=True),
                **asdict(self._chat),
                now=self._now,
                limit=CANDIDATES,
            )
            near = [Fact.of(row) for row in rows]
        else:  # it holds nothing that the index knows
            near = self._live()
        for fact in near:
            verdict = same(fact.content, content)
            if verdict is not None:
                return fact, verdict
        return None

    def _make_room(self, most: int) -> None:
        count = self._db.fetch("count_of_chat", **asdict(self._chat))[0]["facts"]
        if count <= most:
            return
        live = self._live()[:-1]  # what was just learnt stays
        weakest = sorted(live, key=lambda f: (f.category == "profile", f.confidence, f.created))
        for fact in weakest[: count - most]:
            self._change(fact, None, "faded")


def next_number(db: Transaction, name: str) -> int:
    """Return the next number of ``fact`` or ``log``, never used before."""
    db.execute("next_number", name=name)
    number: int = db.fetch("last_number", name=name)[0]["last"]
    return number


def _meant(facts: Sequence[Fact], wanted: str) -> list[Fact]:
    number = wanted.strip().removeprefix("#")
    if wanted.strip().startswith("#") and number.isdecimal():
        return [fact for fact in facts if fact.id == int(number)]
    flat = " ".join(wanted.split())
    loose = flat.casefold()
    for fits in (
        lambda text: text == flat,
        lambda text: flat in text,
        lambda text: loose in text.casefold(),
    ):
        found = [fact for fact in facts if flat and fits(fact.content)]
        if found:
            return found
    return []


def _wanted(chat: Chat, keys: Sequence[str], *, every: bool) -> dict[str, Any]:
    """What finds the facts of ``chat`` with any or all of ``keys``, which hold no blanks and no
    quotes: a query for FTS5, and its parts for PostgreSQL."""
    wanted = (" AND " if every else " OR ").join(f'"{key}"' for key in keys)
    mark = mark_of(chat)
    query = f'chat : "{mark}" AND terms : ({wanted})'
    return {"query": query, "mark": mark, "words": " ".join(keys), "every": every}


def _ends_of(text: str) -> str:
    if len(text) <= QUERY_CHARS:
        return text
    return f"{text[: QUERY_CHARS // 2]} {text[-QUERY_CHARS // 2 :]}"
