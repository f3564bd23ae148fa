"""The story ``learning``: three releases with learning, then the same without."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ...process import ask
from ...screen import Screen
from ...stage import Stage
from ...turn import RECORDED_NOTICE, tell_failure
from ..releases import ReleaseResult, next_release, session, table

PLUGINS = ("memory", "user-model", "skills")
OFF = {f"HOOKLINE_PLUGINS__{name.upper().replace('-', '_')}": "false" for name in PLUGINS}
RELEASES = (
    ("shop", "1.4", ("bundle", "maintenance")),
    ("blog", "2.0", ("maintenance", "schema")),
    ("wiki", "0.9", ("bundle", "schema")),
)
"""App, version and requirements of each session's release."""
PREFERENCE = " I like reports as one line: the address first, then the version."
"""Said only in the first session."""
EXPECTED_WITH, EXPECTED_WITHOUT = ((12, 2), (9, 1), (6, 0)), ((12, 2), (12, 2), (12, 2))
"""Tool calls and errors of the three sessions with the recorded words."""
SKILL, PITFALL = "ship-a-release", "migrate.py"


def tell(stage: Stage, screen: Screen) -> bool:
    """Run both series of sessions, check and show the results; return True if the checks pass."""
    screen.say(
        RECORDED_NOTICE if stage.model is None else REAL_MODEL_NOTICE.format(model=stage.model),
        "bold",
    )
    screen.say()
    with_learning = _run_releases(stage, screen, {})
    screen.say("The same three releases without memory, user-model and skills:", "bold")
    bare_stage = Stage.set_up("learning", stage.model)
    try:
        without = _run_releases(bare_stage, screen, OFF)
    finally:
        bare_stage.remove()
    table(screen, "with memory, user-model and skills", with_learning)
    table(screen, "without them", without)
    wrong = [sentence for result in (*with_learning, *without) for sentence in result.wrong]
    if stage.model is None:
        wrong += _failed_checks(stage, with_learning, without)
    if wrong:
        tell_failure(wrong, screen)
    return not wrong


REAL_MODEL_NOTICE = "The model is {model}; tools, hooks, memory and storage are real as well."


def _run_releases(
    stage: Stage, screen: Screen, variables: Mapping[str, str]
) -> list[ReleaseResult]:
    results = []
    for number, (app, version, needs) in enumerate(RELEASES, 1):
        next_release(stage.project, app, version, needs)
        prompt = f"Ship the {app}, version {version}, to staging."
        if number == 1:
            prompt += PREFERENCE
        screen.say(f"session {number}", "bold")
        screen.say(f"  you    {prompt}")
        results.append(session(stage, screen, f"release-{number}", prompt, variables))
        if not variables:
            _show_learnt(stage, screen, number)
        screen.say()
    return results


def _show_learnt(stage: Stage, screen: Screen, number: int) -> None:
    """Show what the review wrote after the reply."""
    if number == 1:
        screen.say("  learnt in the background, after the reply:")
        for fact in _facts(stage):
            screen.say(f"    fact   {fact}")
        screen.say(f"    user   {' '.join(_profile(stage).split())}")
        screen.say(f"    skill  {SKILL}" if _skill(stage) else "    no skill")
    elif number == 2 and PITFALL in _skill(stage):
        screen.say(f"  the skill {SKILL} now knows about {PITFALL}")


def _facts(stage: Stage) -> list[str]:
    found = ask(stage, "memory", "list", "--json")
    rows = found if isinstance(found, list) else ()
    return [str(row["text"]) for row in rows if row.get("kind") == "fact"]


def _profile(stage: Stage) -> str:
    return _text(stage.home / "chats" / "terminal" / "default" / "USER.md")


def _skill(stage: Stage) -> str:
    return _text(stage.home / "skills" / SKILL / "SKILL.md")


def _text(path: Path) -> str:
    return path.read_text("utf-8") if path.is_file() else ""


def _failed_checks(
    stage: Stage, with_learning: list[ReleaseResult], without: list[ReleaseResult]
) -> list[str]:
    """Return a sentence for each check that failed."""
    found = []
    for name, results, expected in (
        ("with", with_learning, EXPECTED_WITH),
        ("without", without, EXPECTED_WITHOUT),
    ):
        counted = tuple((result.calls, result.errors) for result in results)
        if counted != expected:
            found.append(
                f"{name} the plugins: calls and errors should be {expected}, not {counted}"
            )
    if not _facts(stage):
        found.append("no fact was stored")
    if not _profile(stage):
        found.append("the profile of the user is empty")
    if PITFALL not in _skill(stage):
        found.append(f"the skill {SKILL} does not know about {PITFALL}")
    return found
