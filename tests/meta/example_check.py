"""Installs the example plugin as its users would, and uses it from enabling to removal.

A program, no test: ``PYTHONPATH=tests python -m meta.example_check``. It needs ``uv`` on the path
and the package index; it takes about half a minute. Everything is installed from wheels into an
environment outside of the repository. Exit code 1 names what did not work.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from meta.check_environment import CheckEnvironment, CheckFailed, expect
from meta.tree import ROOT, Dist, dists, normal, required

EXAMPLE = Dist(ROOT / "examples" / "hookline-standup")
ASKED_FOR = (
    *("hookline", "hookline-commands", "hookline-configure", "hookline-inspect"),
    *("hookline-terminal", "hookline-scripted"),
)
"""Core and what this path cannot do without: ``/new``, ``plugins enable``, ``plugins info``,
``hookline run`` and a model."""
SCENARIO = "scenario.yaml"
STEPS = [
    {
        "when": "wrote the parser",
        "tools": [
            {
                "name": "standup_note",
                "arguments": {"text": "wrote the parser", "blocker": "no reviewer"},
            }
        ],
    },
    {"when": "Noted for", "text": "It is noted."},
    {"when": "<standup>.*no reviewer</blocker>", "text": "Is there a reviewer by now?"},
]
"""What the model does: it keeps the note, and a day later it sees the reminder."""
TOMORROW = "HOOKLINE_CLOCK_OFFSET=86400"


def needed() -> set[str]:
    """The requested dists and, recursively, every dist of this tree that they require."""
    here = {dist.name: required(dist.project.get("dependencies", [])) for dist in dists()}
    found, left = set[str](), [*ASKED_FOR]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += here.get(name, set()) & here.keys()
    return found


def build(environment: CheckEnvironment, wheels: Path) -> None:
    """Wheels of what is needed and of the example, each with its sdist."""
    names = needed()
    command = ("uv", "build", "--quiet", "--out-dir", wheels)
    for name in names:
        environment.run(*command, "--package", name, cwd=ROOT)
    environment.run(*command, EXAMPLE.folder)
    found = sorted(normal(wheel.name.partition("-")[0]) for wheel in wheels.glob("*.whl"))
    expect(found=found, wanted=sorted([*names, EXAMPLE.name]), what="wheels")


def check_own_tests(environment: CheckEnvironment) -> None:
    """The example's tests and types, against what is installed: its sources are not there."""
    for name in ("pyproject.toml", "tests"):
        source, target = EXAMPLE.folder / name, environment.folder / "clone" / name
        target.parent.mkdir(exist_ok=True)
        shutil.copytree(source, target) if source.is_dir() else shutil.copy2(source, target)
    clone = target.parent
    group = f"{clone / 'pyproject.toml'}:dev"
    environment.run(
        "uv", "pip", "install", "--quiet", "--python", environment.bin.parent, "--group", group
    )
    environment.run(environment.bin / "python", "-m", "pytest", cwd=clone)
    environment.run(environment.bin / "python", "-m", "mypy", "tests", cwd=clone)
    environment.run(environment.bin / "python", "-m", "mypy", "-p", EXAMPLE.module, cwd=clone)


def check_switching_on(environment: CheckEnvironment) -> None:
    """It is off until it is enabled; then ``info`` shows what it brings."""
    expect_state(environment, "off")
    environment.hookline("plugins", "enable", "standup")
    expect_state(environment, "on")
    text = environment.hookline("plugins", "info", "standup")
    for word in (EXAMPLE.name, "pre_prompt", "standup_note", "/standup-clear", "keep_days"):
        expect(found=word in text, wanted=True, what=f"plugins info names {word}")


def check_a_turn(environment: CheckEnvironment) -> None:
    """The model keeps a note, ``/standup`` shows it, and a day later the model is reminded."""
    (environment.folder / SCENARIO).write_text(json.dumps({"steps": STEPS}), "utf-8")
    said = run(environment, "I wrote the parser; no reviewer")
    expect(found=said.strip(), wanted="It is noted.", what="the answer")
    shown = run(environment, "/standup")
    expect(found="wrote the parser (blocked: no reviewer)" in shown, wanted=True, what="/standup")
    said = run(environment, "good morning", "env", TOMORROW)
    expect(found=said.strip(), wanted="Is there a reviewer by now?", what="the reminded answer")


def check_removing(environment: CheckEnvironment) -> None:
    """Disabled it is off and its notes stay; purged they are gone."""
    for last, left in (("disable", True), ("purge", False)):
        environment.hookline("plugins", "disable", "standup")
        expect_state(environment, "off")
        if last == "purge":
            environment.hookline("plugins", "purge", "standup", "--yes")
        environment.hookline("plugins", "enable", "standup")
        shown = run(environment, "/standup")
        expect(found="wrote the parser" in shown, wanted=left, what=f"a note after {last}")


def run(environment: CheckEnvironment, prompt: str, *before: str) -> str:
    """What ``hookline run`` prints for a prompt; ``before`` is put before the command."""
    model = ("--model", f"scripted/{SCENARIO}")
    return environment.run(*before, environment.bin / "hookline", "run", prompt, *model)


def expect_state(environment: CheckEnvironment, wanted: str) -> None:
    """Raise CheckFailed unless ``plugins list`` shows the example in this state."""
    rows = json.loads(environment.hookline("plugins", "list", "--json"))
    state = {row["name"]: row["state"] for row in rows}.get("standup")
    expect(found=state, wanted=wanted, what="state of standup")


def checks(environment: CheckEnvironment, wheels: Path) -> list[tuple[str, Callable[[], None]]]:
    """The steps in order; each needs the one before."""
    return [
        ("build", partial(build, environment, wheels)),
        ("install", lambda: environment.install_wheels(*sorted(wheels.glob("*.whl")))),
        ("own tests", partial(check_own_tests, environment)),
        ("switching on", partial(check_switching_on, environment)),
        ("a turn", partial(check_a_turn, environment)),
        ("removing", partial(check_removing, environment)),
    ]


def main() -> int:
    """Run the checks; stop at the first that fails and print why."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="hookline-example-") as name:
        folder = Path(name)
        for what, check in checks(CheckEnvironment(folder / "environment"), folder / "dist"):
            try:
                check()
            except CheckFailed as failure:
                print(f"example: {what} failed\n{failure}", file=sys.stderr)
                return 1
    print(f"example: installed, tested, used and removed in {time.monotonic() - begun:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
