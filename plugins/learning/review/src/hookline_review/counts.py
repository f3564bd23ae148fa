"""Counts what has happened in a session since its last review."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from hookline_hookspecs import Reviewer, ToolResult, Turn

TRACE_LINES = 100
"""Lines of the trace that are kept for a review, the newest ones."""


LOOKING = frozenset({"recall", "search", "list", "show", "view", "read", "get"})
"""Names of actions that change nothing, in tools with an ``action`` argument."""


@dataclass(slots=True)
class Count:
    """One reviewer's counts: ``turns`` and ``iterations`` since one of its tools wrote something;
    ``fresh``, the turns that it has not reviewed, and ``agreed``, those of them that its ``due``
    found worth it."""

    turns: int = 0
    iterations: int = 0
    fresh: int = 0
    agreed: int = 0


@dataclass(slots=True)
class Counts:
    """One session's counts by reviewer, with the trace of what the tools did.

    ``turn`` is the id of the turn that was counted last and ``at`` when that was (Unix seconds).
    """

    of: dict[str, Count] = field(default_factory=dict)
    trace: list[str] = field(default_factory=list)
    model: str = ""
    turn: str = ""
    at: float = 0.0

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Counts:
        """Read what :meth:`to_json` returned."""
        counted = {name: Count(**one) for name, one in stored["of"].items()}
        return cls(**{**stored, "of": counted})

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)

    def add(
        self,
        turn: Turn,
        reviewers: Iterable[Reviewer],
        agreed: Collection[str],
        writing: frozenset[str],
        lines: list[str],
    ) -> None:
        """Count a turn, once; ``agreed`` are the reviewers whose ``due`` found it worth a review,
        and ``writing`` the tools that change something."""
        if turn.id == self.turn:
            return
        self.turn = turn.id
        wrote = {one.call.name for one in turn.tool_calls if one.ok and not _looked(one)} & writing
        iterations = sum(bool(message.tool_calls) for message in turn.messages)
        for reviewer in reviewers:
            one = self.of.setdefault(reviewer.name, Count())
            one.fresh += 1
            one.agreed += reviewer.name in agreed
            if wrote & set(reviewer.tools):
                one.turns = one.iterations = 0
            else:
                one.turns += 1
                one.iterations += iterations
        self.trace = [*self.trace, *lines][-TRACE_LINES:]

    def reached(self, reviewer: Reviewer) -> bool:
        """Return whether the reviewer has reached one of its thresholds, or has none."""
        one = self.of.get(reviewer.name, Count())
        limits = [(one.turns, reviewer.turns), (one.iterations, reviewer.iterations)]
        if reviewer.turns is reviewer.iterations is reviewer.at_end is None:
            return one.fresh > 0
        return any(limit is not None and count >= limit for count, limit in limits)

    def reached_at_end(self, reviewer: Reviewer) -> bool:
        """Return whether enough is unreviewed for the end of the session to make a review due."""
        one = self.of.get(reviewer.name, Count())
        return reviewer.at_end is not None and one.fresh >= reviewer.at_end

    def fresh(self, reviewers: Iterable[Reviewer]) -> list[Reviewer]:
        """Return the reviewers with turns to review: all that they have not, or, of a reviewer with
        a ``due``, those that it found worth it."""
        counted = [(one, self.of.get(one.name, Count())) for one in reviewers]
        return [one for one, count in counted if (count.agreed if one.due else count.fresh) > 0]

    def reviewed(self, names: Iterable[str]) -> None:
        """Reset the counts of these reviewers, and the trace."""
        for name in names:
            self.of[name] = Count()
        self.trace = []


def _looked(result: ToolResult) -> bool:
    return result.call.arguments.get("action") in LOOKING
