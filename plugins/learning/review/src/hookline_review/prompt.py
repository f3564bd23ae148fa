"""The prompt of a review."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path

from hookline_hookspecs import Message, Reviewer, ToolResultBlock

from .counts import READ_ACTIONS

DONE = "Done:"
"""Begins the model's statement beside its last calls."""
PROPOSALS_NOTE = (
    "This conversation has read from outside. A call whose answer says that it is kept as a "
    "proposal for the operator has done all that can be done: count it as kept, and do not make it "
    "again in another form."
)
"""Added to the prompt for a conversation in which a review may only propose."""


@cache
def _template() -> str:
    return (Path(__file__).parent / "review.md").read_text("utf-8").strip()


def allowed_tools(reviewers: Sequence[Reviewer]) -> list[str]:
    """Return the names of the tools that the reviewers may call, without duplicates."""
    return list(dict.fromkeys(name for reviewer in reviewers for name in reviewer.tools))


def max_calls(reviewers: Sequence[Reviewer]) -> int:
    """Return the number of calls the reviewers may make together: the largest ``max_calls``."""
    return max(reviewer.max_calls for reviewer in reviewers)


def prompt(reviewers: Sequence[Reviewer], trace: Sequence[str]) -> str:
    """Return the message that starts the review in the forked session."""
    parts = [f"## {reviewer.name}\n\n{reviewer.instruction.strip()}" for reviewer in reviewers]
    return _template().format(
        tools=", ".join(allowed_tools(reviewers)) or "none",
        max_calls=max_calls(reviewers),
        instructions="\n\n".join(parts),
        trace="\n".join(_group_repeats(trace)) or "No tool was used.",
    )


def _group_repeats(trace: Sequence[str]) -> Iterator[str]:
    """Yield the lines with repeated ones merged, with their number."""
    for line, equal in groupby(trace):
        number = len(list(equal))
        yield f"{line} ×{number}" if number > 1 else line


def final_statement(messages: Sequence[Message], writing: Collection[str]) -> str:
    """Return the statement "Done: …" beside a review's last calls; empty if there is none.

    It is also empty if one of the calls failed or only reads, whose result the model needs.
    ``writing`` are the names of the tools that are not read-only.
    """
    if len(messages) < 2:
        return ""
    statement, calls = messages[-2].text.strip(), messages[-2].tool_calls
    if not calls or not statement.lstrip("*_# ").startswith(DONE):
        return ""
    reads = any(
        call.name not in writing or call.arguments.get("action") in READ_ACTIONS for call in calls
    )
    results = [block.ok for block in messages[-1].blocks if isinstance(block, ToolResultBlock)]
    return statement if all(results) and not reads else ""
