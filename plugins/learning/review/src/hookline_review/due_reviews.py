"""Stores due reviews until they are done, and the counts of each session.

A turn is counted, and a review that becomes due is stored, before the reply is sent: if the
process ends right after it, the next process runs the review. The counts themselves are in memory
and stored within a second, so that a crash loses at most the last second.
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

from .counts import MAX_TRACE_LINES, SessionCounts

MAX_ATTEMPTS = 2
"""How many times a review is started."""
MAX_CACHED_SESSIONS = 512
"""Sessions whose counts are cached."""


@dataclass(frozen=True, slots=True)
class DueReview:
    """A review that is due: its session, reviewers and trace.

    ``since`` is when it became due, ``claimed`` when the process ``owner`` last started it (Unix
    time in seconds).
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
    def of(cls, row: Mapping[str, Any]) -> DueReview:
        """Return the review of a database row."""
        session = Session(
            row["session_id"], row["channel"], row["chat_id"], None, row["created"], resumed=True
        )
        reviewers, trace = (tuple(json.loads(row[name])) for name in ("reviewers", "trace"))
        rest = row["due"], row["tries"], row["claimed"], row["owner"]
        return cls(session, row["model"], reviewers, trace, *rest)


class ReviewRecords:
    """Counts and due reviews in the plugin's storage.

    Args:
        retry_after: seconds after which a review that failed, or was started on another machine,
            is started again.
    """

    def __init__(self, host: Host, retry_after: float) -> None:
        self._host = host
        self._retry_after = retry_after
        self._process: ProcessLock | None = None
        self._later = LaterWrites(host)
        self._cached: OrderedDict[str, tuple[SessionCounts, int | None]] = OrderedDict()
        self._reading = asyncio.Lock()
        self._none_due_as_of: tuple[int, int] | None = None
        self._schedule_count = 0

    @property
    def process(self) -> ProcessLock:
        """This process's lock."""
        if self._process is None:
            self._process = ProcessLock(self._host.storage)
        return self._process

    # Counts

    def begin(self, session_id: str) -> None:
        """Start the counts of a new session."""
        self._remember(session_id, SessionCounts(), changes(self._host.storage))

    async def counts(self, session_id: str) -> SessionCounts:
        """Return the counts of a session, read again if another process wrote since."""
        async with self._reading:
            storage = self._host.storage
            known, as_of = self._cached.get(session_id, (SessionCounts(), None))
            if as_of is not None and as_of == changes(storage):
                return known
            await self._later.flush()
            as_of = changes(storage)
            counts = _read_counts(await storage.fetch("counts", session_id=session_id))
            self._remember(session_id, counts, as_of)
            return counts

    async def count(self, session_id: str, add: Callable[[SessionCounts], None]) -> SessionCounts:
        """Change the counts of a session by ``add`` and return them; they are stored later."""

        def work(stored: Transaction) -> None:
            counts = _read_counts(stored.fetch("counts", session_id=session_id))
            add(counts)
            _store_counts(stored, session_id, counts)

        counts = await self.counts(session_id)
        add(counts)
        self._later.add(work)
        return counts

    async def flush(self) -> None:
        """Store the counts now."""
        await self._later.flush()

    def _remember(self, session_id: str, counts: SessionCounts, as_of: int | None) -> None:
        self._cached[session_id] = counts, as_of
        self._cached.move_to_end(session_id)
        if len(self._cached) > MAX_CACHED_SESSIONS:
            self._cached.popitem(last=False)

    async def forget(self, before: float) -> None:
        """Delete the counts of sessions idle since ``before`` (Unix seconds), and stale lock
        files."""
        await self.flush()
        self._cached.clear()
        await self._host.storage.execute("delete_old_counts", before=before)
        rows = await self._host.storage.fetch("pending")
        self.process.clean({row["owner"] for row in rows})

    # Reviews

    async def schedule(self, session: Session, reviewers: Iterable[Reviewer]) -> None:
        """Store a due review and reset the counts of ``reviewers``, in one transaction."""
        now = self._host.now()

        def work(stored: Transaction) -> None:
            counts = _read_counts(stored.fetch("counts", session_id=session.id))
            names = [reviewer.name for reviewer in counts.fresh(reviewers)]
            if not names:
                return
            trace = counts.trace
            for row in stored.fetch("pending_of", session_id=session.id):
                earlier = DueReview.of(row)
                names = list(dict.fromkeys([*earlier.reviewers, *names]))
                trace = [*earlier.trace, *trace][-MAX_TRACE_LINES:]
            row = {"session_id": session.id, "created": session.created}
            row |= {"channel": session.channel, "chat_id": session.chat_id}
            lists = {"reviewers": json.dumps(names), "trace": json.dumps(trace)}
            stored.execute("put", **row, **lists, model=counts.model, now=now)
            stored.execute("renew", session_id=session.id)
            counts.reviewed(names)
            _store_counts(stored, session.id, counts)

        await self.flush()
        self._cached.pop(session.id, None)  # read the stored counts next time
        self._schedule_count += 1
        try:
            await self._host.storage.transact(work)
        finally:
            self._schedule_count += 1

    @property
    def may_be_due(self) -> bool:
        """False if no review was due at the last look, and none was scheduled since."""
        return self._none_due_as_of is None or self._none_due_as_of != self._as_of

    @property
    def _as_of(self) -> tuple[int, int] | None:
        """A value that changes when any process schedules a review; None if unknown."""
        others = changes(self._host.storage)
        return None if others is None else (others, self._schedule_count)

    async def claim(
        self, is_paused: Callable[[str], Awaitable[bool]], only: str | None = None
    ) -> DueReview | None:
        """Claim the oldest review that is not running, or None.

        If several processes try at once, one succeeds. A review started too often is dropped.

        Args:
            is_paused: returns true for the id of a session that is not to be reviewed now.
            only: claim only a review of this session.
        """
        as_of = self._as_of
        rows = await self._host.storage.fetch("pending")
        if not rows:
            self._none_due_as_of = as_of
        for row in rows:
            due = DueReview.of(row)
            if only not in (None, due.session.id) or not self._is_unowned(due):
                continue
            if not await is_paused(due.session.id) and await self._try_claim(due):
                return due
        return None

    def _is_unowned(self, due: DueReview) -> bool:
        if due.claimed <= self._host.now() - self._retry_after:
            return True
        return bool(due.owner) and self.process.is_dead(due.owner)

    async def _try_claim(self, due: DueReview) -> bool:
        if due.tries >= MAX_ATTEMPTS:
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

    async def release(self, due: DueReview) -> None:
        """Return a review to the queue, even while this task is cancelled."""
        mine = {"session_id": due.session.id, "owner": self.process.id}
        await asyncio.shield(self._host.storage.execute("release", **mine))

    async def done(self, due: DueReview) -> None:
        """Delete a finished review; if it became due again meanwhile, release it instead."""
        session_id, owner = due.session.id, self.process.id

        def work(stored: Transaction) -> None:
            if not stored.execute("done", session_id=session_id, due=due.since):
                stored.execute("again", session_id=session_id, owner=owner)

        await self._host.storage.transact(work)

    async def failed(self, due: DueReview) -> None:
        """Mark a review as failed; it is retried after ``retry_after`` seconds."""
        mine = {"session_id": due.session.id, "owner": self.process.id}
        await self._host.storage.execute("failed", **mine)


def _read_counts(rows: Iterable[Mapping[str, Any]]) -> SessionCounts:
    return next(
        (SessionCounts.from_json(json.loads(row["counts"])) for row in rows), SessionCounts()
    )


def _store_counts(stored: Transaction, session_id: str, counts: SessionCounts) -> None:
    row = {"session_id": session_id, "counts": json.dumps(counts.to_json()), "at": counts.at}
    stored.execute("set_counts", **row)
