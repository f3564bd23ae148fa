"""The story ``fix``: a failing test is found, a risky command refused, the bug fixed."""

from __future__ import annotations

import os

from ...cost import estimate
from ...evidence import diff, failing_tests
from ...hook_uses import hook_uses
from ...run_record import RunRecord
from ...screen import Screen, Style
from ...stage import Stage
from ...turn import RECORDED_NOTICE, play, tell_failure

PROMPT = "The tests of this project fail. Find the cause and fix it."
GUARD_HOOK, MAX_HOOKS = "pre_tool", 9
"""The hook whose plugins are listed (one of them refused the command), and how many of them."""


def tell(stage: Stage, screen: Screen) -> bool:
    """Run the turn, check and show the results; return True if the checks pass."""
    screen.say(RECORDED_NOTICE, "bold")
    screen.say()
    record, wrong = play(stage, PROMPT, screen)
    if len(record.refusals) != 1:
        wrong.append(f"one command should have been refused; {len(record.refusals)} were")
    failing = failing_tests(stage)
    if failing:
        wrong.append(failing)
    if wrong:
        tell_failure(wrong, screen)
        return False
    _show_changes(stage, screen)
    _show_hooks(stage, screen, record)
    _show_cost(screen, record)
    _show_next(screen)
    return True


def _show_changes(stage: Stage, screen: Screen) -> None:
    screen.say("Checked afterwards: the project's tests pass. What changed on disk:", "bold")
    styles: dict[str, Style] = {"+": "good", "-": "bad"}
    for line in diff(stage):
        screen.say(f"  {line}".rstrip(), styles.get(line[:1], "dim"))
    screen.say()


def _show_hooks(stage: Stage, screen: Screen, record: RunRecord) -> None:
    screen.say("Hooks by plugin, counted from this run:", "bold")
    found = hook_uses(stage, record)
    shown = [one for one in found if one.hook == GUARD_HOOK][:MAX_HOOKS]
    for plugin, hook, times in shown:
        screen.say(f"  {plugin:<12} {hook:<16} {times}")
    if more := len(found) - len(shown):
        screen.say(f"  and {more} more at other points of the turn (all: hookline hooks)")
    screen.say(f"  {len(record.results)} tool calls, 1 of them refused")
    screen.say()


def _show_cost(screen: Screen, record: RunRecord) -> None:
    found = estimate(record)
    tokens, read, written = (record.usage(n) for n in ("input", "cache_read", "output"))
    screen.say("What this turn would cost on a real model (an estimate):", "bold")
    screen.say(f"  {tokens:,} tokens in ({read:,} of them repeated), {written:,} out,")
    screen.say(f"  counted as characters / 4; list prices of {found.as_of}")
    screen.say(f"  {'':<30} {'cached':>9} {'uncached':>9}")
    for cost in found.costs:
        cached, uncached = f"${cost.cached:.4f}", f"${cost.uncached:.4f}"
        screen.say(f"  {cost.model:<30} {cached:>9} {uncached:>9}")
    screen.say()


def _show_next(screen: Screen) -> None:
    # `uv run` finds the command in an environment that the person's own shell does not search.
    run = "uv run hookline" if "UV_RUN_RECURSION_DEPTH" in os.environ else "hookline"
    screen.say("Next:", "bold")
    screen.say(f"  set up a real model    {run} init")
    screen.say("  or with a variable     export ANTHROPIC_API_KEY=...  (or OPENAI_API_KEY)")
    screen.say(f'  then                   {run} run "What is in this folder?"')
    screen.say(f"  list the plugins       {run} plugins list")
