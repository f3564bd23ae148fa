"""Which plugins had a say in a run: who implements a hook, and how often it came up."""

from __future__ import annotations

from typing import NamedTuple

from .process import ask
from .record import Record
from .stage import Stage


class AtWork(NamedTuple):
    """A plugin's hook, and how often the run came by it."""

    plugin: str
    hook: str
    times: str


def at_work(stage: Stage, record: Record) -> list[AtWork]:
    """The plugins' hooks of a turn, by plugin.

    Who implements them is what ``hookline hooks`` says in the same home; how often each came up is
    counted from the run's JSON lines, so hooks that leave no line are not told.
    """
    rows = ask(stage, "hooks", "--json")
    counts = _counts(record)
    found = [
        AtWork(str(plugin), str(row["name"]), counts[row["name"]])
        for row in (rows if isinstance(rows, list) else [])
        if row.get("name") in counts
        for plugin in row.get("impls", [])
    ]
    return sorted(found, key=lambda one: one.plugin)


def _counts(record: Record) -> dict[str, str]:
    """Hook to how often it came up, in words."""
    calls = f"for {len(record.results)} tool calls"
    responses = f"for {record.responses} model calls"
    turn = "once for the turn"
    judged = f"asked about {len(record.results)} tool calls"
    return {
        **dict.fromkeys(("start_of_session", "system_prompt"), "once for the session"),
        **dict.fromkeys(("on_message", "start_of_turn", "pre_prompt", "pre_reply"), turn),
        **dict.fromkeys(("pre_model", "pre_send", "around_model", "post_model"), responses),
        "pre_tool": judged,
        "post_tool": calls,
    }
