"""Counts turns and calls of a session since its last review."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from hookline_hookspecs import Reviewer, ToolResult, Turn

MAX_TRACE_LINES = 100
"""Lines of the trace for a review, the newest ones."""


READ_ACTIONS = frozenset({"recall", "search", "list", "show", "view", "read", "get"})
"""Names of actions that change nothing, in tools with an ``action`` argument."""


@dataclass(slots=True)
class ReviewerCount:
    """The counts of one reviewer.

    ``turns`` and ``iterations`` count since one of its tools last wrote something; ``fresh`` the
    turns it has not reviewed, ``agreed`` those of them for which its ``due`` returned true.
    """

    turns: int = 0
    iterations: int = 0
    fresh: int = 0
    agreed: int = 0


@dataclass(slots=True)
class SessionCounts:
    """The counts of a session by reviewer, and the trace of its tool calls.

    ``turn`` is the id of the last counted turn, ``at`` its time (Unix time in seconds).
    """

    of: dict[str, ReviewerCount] = field(default_factory=dict)
    trace: list[str] = field(default_factory=list)
    model: str = ""
    turn: str = ""
    at: float = 0.0

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> SessionCounts:
        """Read the result of :meth:`to_json`."""
        counted = {name: ReviewerCount(**one) for name, one in stored["of"].items()}
        return cls(**{**stored, "of": counted})

    def to_json(self) -> dict[str, Any]:
        """Return the counts as JSON values."""
        return asdict(self)

    def add(
        self,
        turn: Turn,
        reviewers: Iterable[Reviewer],
        agreed: Collection[str],
        writing: frozenset[str],
        lines: list[str],
    ) -> None:
        """Count a turn, once.

        Args:
            agreed: reviewers whose ``due`` returned true for the turn.
            writing: names of the tools that are not read-only.
            lines: the trace of the turn.
        """
        if turn.id == self.turn:
            return
        self.turn = turn.id
        wrote = {
            tool_call.call.name
            for tool_call in turn.tool_calls
            if tool_call.ok and not _is_read_only(tool_call)
        } & writing
        iterations = sum(bool(message.tool_calls) for message in turn.messages)
        for reviewer in reviewers:
            one = self.of.setdefault(reviewer.name, ReviewerCount())
            one.fresh += 1
            one.agreed += reviewer.name in agreed
            if wrote & set(reviewer.tools):
                one.turns = one.iterations = 0
            else:
                one.turns += 1
                one.iterations += iterations
        self.trace = [*self.trace, *lines][-MAX_TRACE_LINES:]

    def reached(self, reviewer: Reviewer) -> bool:
        """True if the reviewer reached one of its thresholds, or has none."""
        one = self.of.get(reviewer.name, ReviewerCount())
        limits = [(one.turns, reviewer.turns), (one.iterations, reviewer.iterations)]
        if reviewer.turns is reviewer.iterations is reviewer.at_end is None:
            return one.fresh > 0
        return any(limit is not None and count >= limit for count, limit in limits)

    def reached_at_end(self, reviewer: Reviewer) -> bool:
        """True if the reviewer's threshold for the end of a session is reached."""
        one = self.of.get(reviewer.name, ReviewerCount())
        return reviewer.at_end is not None and one.fresh >= reviewer.at_end

    def fresh(self, reviewers: Iterable[Reviewer]) -> list[Reviewer]:
        """Return the reviewers with turns to review; of those with ``due``, if it agreed to one."""
        counted = [
            (reviewer, self.of.get(reviewer.name, ReviewerCount())) for reviewer in reviewers
        ]
        return [one for one, count in counted if (count.agreed if one.due else count.fresh) > 0]

    def reviewed(self, names: Iterable[str]) -> None:
        """Reset the counts of these reviewers, and the trace."""
        for name in names:
            self.of[name] = ReviewerCount()
        self.trace = []


def _is_read_only(result: ToolResult) -> bool:
    return result.call.arguments.get("action") in READ_ACTIONS
