"""The story ``learning``: three releases, and what was learnt from the first ones; then without."""

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
"""App, version and what must be ready before it can be shipped, of each session."""
PREFERENCE = " I like reports as one line: the address first, then the version."
"""Said in the first session, and never again."""
EXPECTED_WITH, EXPECTED_WITHOUT = ((12, 2), (9, 1), (6, 0)), ((12, 2), (12, 2), (12, 2))
"""Tool calls and errors of the three sessions, as the recorded words make them."""
SKILL, PITFALL = "ship-a-release", "migrate.py"


def tell(stage: Stage, screen: Screen) -> bool:
    """Play both rows of sessions, check and show what they came to. True if it all happened."""
    screen.say(
        RECORDED_NOTICE if stage.model is None else REAL_MODEL_NOTICE.format(model=stage.model),
        "bold",
    )
    screen.say()
    learnt = _three(stage, screen, {})
    screen.say("The same three releases without memory, user-model and skills:", "bold")
    bare = Stage.set_up("learning", stage.model)
    try:
        not_learnt = _three(bare, screen, OFF)
    finally:
        bare.remove()
    table(screen, "with memory, user-model and skills", learnt)
    table(screen, "without them", not_learnt)
    wrong = [sentence for told in (*learnt, *not_learnt) for sentence in told.wrong]
    if stage.model is None:
        wrong += _untrue(stage, learnt, not_learnt)
    if wrong:
        tell_failure(wrong, screen)
    return not wrong


REAL_MODEL_NOTICE = "The model is {model}; tools, hooks, memory and storage are real as well."


def _three(stage: Stage, screen: Screen, variables: Mapping[str, str]) -> list[ReleaseResult]:
    told = []
    for number, (app, version, needs) in enumerate(RELEASES, 1):
        next_release(stage.project, app, version, needs)
        prompt = f"Ship the {app}, version {version}, to staging."
        if number == 1:
            prompt += PREFERENCE
        screen.say(f"session {number}", "bold")
        screen.say(f"  you    {prompt}")
        told.append(session(stage, screen, f"release-{number}", prompt, variables))
        if not variables:
            _show_learnt(stage, screen, number)
        screen.say()
    return told


def _show_learnt(stage: Stage, screen: Screen, number: int) -> None:
    """What is on disk now that was not there before; the review wrote it after the reply."""
    if number == 1:
        screen.say("  learnt in the background, after the reply:")
        for fact in _facts(stage):
            screen.say(f"    fact   {fact}")
        screen.say(f"    user   {' '.join(_portrait(stage).split())}")
        screen.say(f"    skill  {SKILL}" if _skill(stage) else "    no skill")
    elif number == 2 and PITFALL in _skill(stage):
        screen.say(f"  the skill {SKILL} now knows about {PITFALL}")


def _facts(stage: Stage) -> list[str]:
    found = ask(stage, "memory", "list", "--json")
    rows = found if isinstance(found, list) else ()
    return [str(row["text"]) for row in rows if row.get("kind") == "fact"]


def _portrait(stage: Stage) -> str:
    return _text(stage.home / "chats" / "terminal" / "default" / "USER.md")


def _skill(stage: Stage) -> str:
    return _text(stage.home / "skills" / SKILL / "SKILL.md")


def _text(path: Path) -> str:
    return path.read_text("utf-8") if path.is_file() else ""


def _untrue(
    stage: Stage, learnt: list[ReleaseResult], not_learnt: list[ReleaseResult]
) -> list[str]:
    """A sentence for each part of the story that did not come true."""
    found = []
    for name, told, wanted in (
        ("with", learnt, EXPECTED_WITH),
        ("without", not_learnt, EXPECTED_WITHOUT),
    ):
        counted = tuple((one.calls, one.errors) for one in told)
        if counted != wanted:
            found.append(f"{name} the plugins: calls and errors should be {wanted}, not {counted}")
    if not _facts(stage):
        found.append("no fact was remembered")
    if not _portrait(stage):
        found.append("nothing is known of the user")
    if PITFALL not in _skill(stage):
        found.append(f"the skill {SKILL} does not know about {PITFALL}")
    return found
