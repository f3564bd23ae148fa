"""The prompt of a review."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path

from hookline_hookspecs import Message, Reviewer, ToolResultBlock

from .counts import LOOKING

DONE = "Done:"
"""How a model begins what it says beside its last calls."""
PROPOSED = (
    "This conversation has read from outside. A call whose answer says that it is kept as a "
    "proposal for the operator has done all that can be done: count it as kept, and do not make it "
    "again in another form."
)
"""What is added for a conversation in which a review may only propose."""


@cache
def _template() -> str:
    return (Path(__file__).parent / "review.md").read_text("utf-8").strip()


def tools_of(reviewers: Sequence[Reviewer]) -> list[str]:
    """Return the names of the tools that these reviewers may call, without duplicates."""
    return list(dict.fromkeys(name for one in reviewers for name in one.tools))


def calls_of(reviewers: Sequence[Reviewer]) -> int:
    """Return how many calls they may make together: the largest ``max_calls``."""
    return max(one.max_calls for one in reviewers)


def prompt(reviewers: Sequence[Reviewer], trace: Sequence[str]) -> str:
    """Return the message that is appended to the copied conversation."""
    parts = [f"## {one.name}\n\n{one.instruction.strip()}" for one in reviewers]
    return _template().format(
        tools=", ".join(tools_of(reviewers)) or "none",
        max_calls=calls_of(reviewers),
        instructions="\n\n".join(parts),
        trace="\n".join(_grouped(trace)) or "No tool was used.",
    )


def _grouped(trace: Sequence[str]) -> Iterator[str]:
    """Yield equal lines that follow each other as one, with their number."""
    for line, equal in groupby(trace):
        number = len(list(equal))
        yield f"{line} ×{number}" if number > 1 else line


def last_words(messages: Sequence[Message], writing: Collection[str]) -> str:
    """Return what a review said beside its last calls, if it said so and all of them worked.

    ``writing`` are the tools that change something; who looks something up wants to read it.
    """
    if len(messages) < 2:
        return ""
    said, calls = messages[-2].text.strip(), messages[-2].tool_calls
    if not calls or not said.lstrip("*_# ").startswith(DONE):
        return ""
    looks = any(one.name not in writing or one.arguments.get("action") in LOOKING for one in calls)
    results = [block.ok for block in messages[-1].blocks if isinstance(block, ToolResultBlock)]
    return said if all(results) and not looks else ""
