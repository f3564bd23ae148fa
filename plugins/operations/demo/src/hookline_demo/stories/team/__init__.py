"""The story ``team``: what Ann's agent has learnt, Ben approves, and Ben's agent knows."""

from __future__ import annotations

import json
import shutil
import subprocess

from ...process import RUN_TIMEOUT, ask, command, started
from ...screen import Screen
from ...stage import Stage
from ...turn import RECORDED_NOTICE, tell_failure
from ..releases import ReleaseResult, next_release, session, table

ANN = (
    ("shop", "1.4", ("bundle", "maintenance")),
    ("blog", "2.0", ("maintenance", "schema")),
    ("wiki", "0.9", ("bundle", "schema")),
)
BEN = ("desk", "3.1", ("bundle", "schema"))
"""App, version and what must be ready before it can be shipped, of each session."""
SKILL = "ship-a-release"
EXPECTED_COUNTS = ((12, 2), (9, 1), (6, 0), (6, 0), (12, 2))
"""Tool calls and errors: Ann's three sessions, Ben's first, and one without a team."""
COLUMNS = ("Ann, 1st", "Ann, 2nd", "Ann, 3rd", "Ben, 1st", "no team")


def tell(stage: Stage, screen: Screen) -> bool:
    """Play Ann's sessions, the review, and Ben's first one. True if it all happened."""
    screen.say(RECORDED_NOTICE, "bold")
    if shutil.which("git") is None:
        screen.say("The team's skills are in a git repository, and git is not installed.", "bad")
        return False
    screen.say()
    ben, alone = Stage.set_up("team"), Stage.set_up("team")
    try:
        _found(stage, ben)
        told = [_ship(stage, screen, "Ann", number, *ANN[number]) for number in range(3)]
        approved = _share(stage, ben, screen)
        told.append(_ship(ben, screen, "Ben", 0, *BEN))
        screen.say("The same without a team, by an agent that has learnt nothing:", "bold")
        told.append(_ship(alone, screen, "somebody", 0, *BEN))
    finally:
        ben.remove()
        alone.remove()
    table(screen, "what each session took", told, COLUMNS)
    wrong = [sentence for one in told for sentence in one.wrong] + approved
    counted = tuple((one.calls, one.errors) for one in told)
    if counted != EXPECTED_COUNTS:
        wrong.append(f"calls and errors should be {EXPECTED_COUNTS}, not {counted}")
    if wrong:
        tell_failure(wrong, screen)
    return not wrong


def _found(ann: Stage, ben: Stage) -> None:
    """Make the team's repository, and have both homes trust Ben, who reviews."""
    store = ann.folder / "team.git"
    subprocess.run(["git", "init", "--quiet", "--bare", str(store)], check=True)
    for stage, name in ((ann, "Ann"), (ben, "Ben")):
        key = ask(stage, "skills", "key", "--name", name, "--json")
    for stage in (ann, ben):
        settings = {"team": f"git+file://{store}", "trust": [key["key"] if key else ""]}
        text = json.dumps({"plugins": {"skills": settings}})  # JSON is YAML
        (stage.home / "config.yaml").write_text(text, "utf-8")


def _ship(
    stage: Stage,
    screen: Screen,
    who: str,
    number: int,
    app: str,
    version: str,
    needs: tuple[str, ...],
) -> ReleaseResult:
    next_release(stage.project, app, version, needs)
    prompt = f"Ship the {app}, version {version}, to staging."
    screen.say(f"{who}, session {number + 1}", "bold")
    screen.say(f"  you    {prompt}")
    told = session(stage, screen, f"release-{number + 1}", prompt, {})
    screen.say()
    return told


def _share(ann: Stage, ben: Stage, screen: Screen) -> list[str]:
    """Propose the skill from Ann's home and approve it in Ben's; what went wrong."""
    wrong = []
    for who, stage, words, wanted in (
        ("Ann", ann, ("propose", SKILL), "Proposed"),
        ("Ben", ben, ("review", "--approve", SKILL), "signed by Ben"),
        ("Ann", ann, ("log", SKILL), "reviewer Ben"),
    ):
        screen.say(f"{who}  $ hookline skills {' '.join(words)}", "bold")
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        with started(stage, command("skills", *words), {}, **pipes) as process:
            said = process.communicate(timeout=RUN_TIMEOUT)[0].decode("utf-8", "replace").strip()
        for line in said.splitlines():
            screen.say(f"  {line}".rstrip(), "good" if line.startswith("+") else "dim")
        screen.say()
        if wanted not in said:
            wrong.append(f"`hookline skills {words[0]}` did not say {wanted!r}")
    return wrong
