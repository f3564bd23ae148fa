"""Stores the counts of each session, and the reviews that are due until they are done.

A turn is counted before its reply is sent, and a review that becomes due is stored then. So if
the process ends or is killed right after the reply, the next process runs the review. The counts
themselves are in memory and stored within a second: a crash loses what was counted since.
"""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hookline_hookspecs import Host, Reviewer, Session, Transaction
from hookline_hookspecs.caching import LaterWrites, changes
from hookline_hookspecs.process_lock import ProcessLock

from .counts import TRACE_LINES, Counts

TRIES = 2
"""How many times a review is started at most."""
KEPT = 512
"""Sessions whose counts are kept in memory."""


@dataclass(frozen=True, slots=True)
class Due:
    """A review that is due: its session, reviewers and trace.

    ``since`` is when it became due and ``claimed`` when the process ``owner`` last started it
    (Unix seconds).
    """

    session: Session
    model: str
    reviewers: tuple[str, ...]
    trace: tuple[str, ...]
    since: float
    tries: int
    claimed: float
    owner: str

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Due:
        """A stored row."""
        session = Session(
            row["session_id"], row["channel"], row["chat_id"], None, row["created"], resumed=True
        )
        reviewers, trace = (tuple(json.loads(row[name])) for name in ("reviewers", "trace"))
        rest = row["due"], row["tries"], row["claimed"], row["owner"]
        return cls(session, row["model"], reviewers, trace, *rest)


class Records:
    """Counts and due reviews, in the plugin's storage.

    ``patience`` is the number of seconds after which a review that failed, or that was started on
    another machine, is started again.
    """

    def __init__(self, host: Host, patience: float) -> None:
        self._host = host
        self._patience = patience
        self._process: ProcessLock | None = None
        self._later = LaterWrites(host)
        self._known: OrderedDict[str, tuple[Counts, int | None]] = OrderedDict()
        self._reading = asyncio.Lock()
        self._nothing_due: tuple[int, int] | None = None
        self._puts = 0

    @property
    def process(self) -> ProcessLock:
        """This process's lock."""
        if self._process is None:
            self._process = ProcessLock(self._host.storage)
        return self._process

    # Counts

    def begin(self, session_id: str) -> None:
        """Begin the counts of a new session, of which nothing is stored."""
        self._remember(session_id, Counts(), changes(self._host.storage))

    async def counts(self, session_id: str) -> Counts:
        """Return the counts of a session, read again if another process has written since."""
        async with self._reading:
            storage = self._host.storage
            known, as_of = self._known.get(session_id, (Counts(), None))
            if as_of is not None and as_of == changes(storage):
                return known
            await self._later.flush()
            as_of = changes(storage)
            counts = _counts(await storage.fetch("counts", session_id=session_id))
            self._remember(session_id, counts, as_of)
            return counts

    async def count(self, session_id: str, add: Callable[[Counts], None]) -> Counts:
        """Change the counts of a session by ``add`` and return them; they are stored later."""

        def work(stored: Transaction) -> None:
            counts = _counts(stored.fetch("counts", session_id=session_id))
            add(counts)
            _keep(stored, session_id, counts)

        counts = await self.counts(session_id)
        add(counts)
        self._later.add(work)
        return counts

    async def flush(self) -> None:
        """Store what was counted."""
        await self._later.flush()

    def _remember(self, session_id: str, counts: Counts, as_of: int | None) -> None:
        self._known[session_id] = counts, as_of
        self._known.move_to_end(session_id)
        if len(self._known) > KEPT:
            self._known.popitem(last=False)

    async def forget(self, before: float) -> None:
        """Delete the counts of sessions idle since ``before`` (Unix seconds), and stale lock
        files."""
        await self.flush()
        self._known.clear()
        await self._host.storage.execute("delete_old_counts", before=before)
        rows = await self._host.storage.fetch("pending")
        self.process.clean({row["owner"] for row in rows})

    # Reviews

    async def put(self, session: Session, reviewers: Iterable[Reviewer]) -> None:
        """Make a review due, and reset the counts of ``reviewers`` in the same transaction."""
        now = self._host.now()

        def work(stored: Transaction) -> None:
            counts = _counts(stored.fetch("counts", session_id=session.id))
            names = [one.name for one in counts.fresh(reviewers)]
            if not names:
                return
            trace = counts.trace
            for row in stored.fetch("pending_of", session_id=session.id):
                earlier = Due.of(row)
                names = list(dict.fromkeys([*earlier.reviewers, *names]))
                trace = [*earlier.trace, *trace][-TRACE_LINES:]
            row = {"session_id": session.id, "created": session.created}
            row |= {"channel": session.channel, "chat_id": session.chat_id}
            lists = {"reviewers": json.dumps(names), "trace": json.dumps(trace)}
            stored.execute("put", **row, **lists, model=counts.model, now=now)
            stored.execute("renew", session_id=session.id)
            counts.reviewed(names)
            _keep(stored, session.id, counts)

        await self.flush()
        self._known.pop(session.id, None)  # what is stored counts now
        self._puts += 1
        try:
            await self._host.storage.transact(work)
        finally:
            self._puts += 1

    @property
    def may_be_due(self) -> bool:
        """False if no review was due when last looked, and none has been made due since."""
        return self._nothing_due is None or self._nothing_due != self._as_of

    @property
    def _as_of(self) -> tuple[int, int] | None:
        """What differs once this or another process has made a review due; None if unknown."""
        others = changes(self._host.storage)
        return None if others is None else (others, self._puts)

    async def claim(
        self, waits: Callable[[str], Awaitable[bool]], only: str | None = None
    ) -> Due | None:
        """Claim the oldest review (of the session ``only``, if given) that is not under way, and
        whose session, by its id, does not wait.

        If several processes try at once, one succeeds. A review started too often is dropped.
        """
        as_of = self._as_of
        rows = await self._host.storage.fetch("pending")
        if not rows:
            self._nothing_due = as_of
        for row in rows:
            due = Due.of(row)
            if only not in (None, due.session.id) or not self._is_left(due):
                continue
            if not await waits(due.session.id) and await self._claimed(due):
                return due
        return None

    def _is_left(self, due: Due) -> bool:
        if due.claimed <= self._host.now() - self._patience:
            return True
        return bool(due.owner) and self.process.is_dead(due.owner)

    async def _claimed(self, due: Due) -> bool:
        if due.tries >= TRIES:
            await self.done(due)
            return False
        self.process.hold()
        claim = {"due": due.since, "claimed": due.claimed, "left_by": due.owner}
        claim |= {"session_id": due.session.id, "owner": self.process.id, "now": self._host.now()}
        try:
            return await self._host.storage.execute("claim", **claim) > 0
        except asyncio.CancelledError:
            await self.release(due)
            raise

    async def release(self, due: Due) -> None:
        """Return a review to the queue, even while this task is being cancelled."""
        mine = {"session_id": due.session.id, "owner": self.process.id}
        await asyncio.shield(self._host.storage.execute("release", **mine))

    async def done(self, due: Due) -> None:
        """Delete a finished review; if it has become due again meanwhile, release it instead."""
        session_id, owner = due.session.id, self.process.id

        def work(stored: Transaction) -> None:
            if not stored.execute("done", session_id=session_id, due=due.since):
                stored.execute("again", session_id=session_id, owner=owner)

        await self._host.storage.transact(work)

    async def failed(self, due: Due) -> None:
        """Mark a review as failed; it is retried after ``patience`` seconds."""
        mine = {"session_id": due.session.id, "owner": self.process.id}
        await self._host.storage.execute("failed", **mine)


def _counts(rows: Iterable[Mapping[str, Any]]) -> Counts:
    return next((Counts.from_json(json.loads(row["counts"])) for row in rows), Counts())


def _keep(stored: Transaction, session_id: str, counts: Counts) -> None:
    row = {"session_id": session_id, "counts": json.dumps(counts.to_json()), "at": counts.at}
    stored.execute("set_counts", **row)
