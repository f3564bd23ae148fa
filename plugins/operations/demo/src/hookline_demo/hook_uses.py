"""Which plugins took part in a run: who implements each hook, and how often it was called."""

from __future__ import annotations

from typing import NamedTuple

from .process import ask
from .run_record import RunRecord
from .stage import Stage


class HookUse(NamedTuple):
    """A plugin's hook, and how often the run called it."""

    plugin: str
    hook: str
    times: str


def hook_uses(stage: Stage, record: RunRecord) -> list[HookUse]:
    """The hooks that were called in a turn, by plugin.

    ``hookline hooks`` in the same home lists who implements them. The calls are counted from the
    run's JSON lines, so hooks without a line are left out.
    """
    rows = ask(stage, "hooks", "--json")
    counts = _counts(record)
    found = [
        HookUse(str(plugin), str(row["name"]), counts[row["name"]])
        for row in (rows if isinstance(rows, list) else [])
        if row.get("name") in counts
        for plugin in row.get("impls", [])
    ]
    return sorted(found, key=lambda use: use.plugin)


def _counts(record: RunRecord) -> dict[str, str]:
    """How often each hook was called, as text."""
    calls = f"for {len(record.results)} tool calls"
    responses = f"for {record.responses} model calls"
    turn = "once for the turn"
    judged = f"judged {len(record.results)} tool calls"
    return {
        **dict.fromkeys(("start_of_session", "system_prompt"), "once for the session"),
        **dict.fromkeys(("on_message", "start_of_turn", "pre_prompt", "pre_reply"), turn),
        **dict.fromkeys(("pre_model", "pre_send", "around_model", "post_model"), responses),
        "pre_tool": judged,
        "post_tool": calls,
    }
