"""The story ``team``: Ann's agent learns a skill, Ben approves it, and Ben's agent uses it."""

from __future__ import annotations

import json
import subprocess

from hookline_hookspecs.own_programs import own_program

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
"""App, version and requirements of each session's release."""
SKILL = "ship-a-release"
EXPECTED_COUNTS = ((12, 2), (9, 1), (6, 0), (6, 0), (12, 2))
"""Tool calls and errors: Ann's three sessions, Ben's first, and one without a team."""
COLUMNS = ("Ann, 1st", "Ann, 2nd", "Ann, 3rd", "Ben, 1st", "no team")


def tell(stage: Stage, screen: Screen) -> bool:
    """Run Ann's sessions, the review, and Ben's first session; return True if the checks pass."""
    screen.say(RECORDED_NOTICE, "bold")
    if (git := own_program("git")) is None:
        screen.say("The team's skills are in a git repository, and git is not installed.", "bad")
        return False
    screen.say()
    ben, alone = Stage.set_up("team"), Stage.set_up("team")
    try:
        _create_team(git, stage, ben)
        results = [_ship(stage, screen, "Ann", number, *ANN[number]) for number in range(3)]
        approved = _share(stage, ben, screen)
        results.append(_ship(ben, screen, "Ben", 0, *BEN))
        screen.say("The same without a team, by an agent that has learnt nothing:", "bold")
        results.append(_ship(alone, screen, "new agent", 0, *BEN))
    finally:
        ben.remove()
        alone.remove()
    table(screen, "calls and errors of each session", results, COLUMNS)
    wrong = [sentence for result in results for sentence in result.wrong] + approved
    counted = tuple((result.calls, result.errors) for result in results)
    if counted != EXPECTED_COUNTS:
        wrong.append(f"calls and errors should be {EXPECTED_COUNTS}, not {counted}")
    if wrong:
        tell_failure(wrong, screen)
    return not wrong


def _create_team(git: str, ann: Stage, ben: Stage) -> None:
    """Create the team's repository; make both homes trust Ben, the reviewer."""
    store = ann.folder / "team.git"
    subprocess.run([git, "init", "--quiet", "--bare", str(store)], check=True)
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
    result = session(stage, screen, f"release-{number + 1}", prompt, {})
    screen.say()
    return result


def _share(ann: Stage, ben: Stage, screen: Screen) -> list[str]:
    """Propose the skill in Ann's home and approve it in Ben's; return a sentence for each
    problem."""
    wrong = []
    for who, stage, words, expected in (
        ("Ann", ann, ("propose", SKILL), "Proposed"),
        ("Ben", ben, ("review", "--approve", SKILL), "signed by Ben"),
        ("Ann", ann, ("log", SKILL), "reviewer Ben"),
    ):
        screen.say(f"{who}  $ hookline skills {' '.join(words)}", "bold")
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        with started(stage, command("skills", *words), {}, **pipes) as process:
            output = process.communicate(timeout=RUN_TIMEOUT)[0].decode("utf-8", "replace").strip()
        for line in output.splitlines():
            screen.say(f"  {line}".rstrip(), "good" if line.startswith("+") else "dim")
        screen.say()
        if expected not in output:
            wrong.append(f"`hookline skills {words[0]}` did not print {expected!r}")
    return wrong
