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

from meta.place import CheckFailed, Place, expect
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


def build(place: Place, wheels: Path) -> None:
    """Wheels of what is needed and of the example, each with its sdist."""
    names = needed()
    command = ("uv", "build", "--quiet", "--out-dir", wheels)
    for name in names:
        place.run(*command, "--package", name, cwd=ROOT)
    place.run(*command, EXAMPLE.folder)
    found = sorted(normal(wheel.name.partition("-")[0]) for wheel in wheels.glob("*.whl"))
    expect(found=found, wanted=sorted([*names, EXAMPLE.name]), what="wheels")


def check_own_tests(place: Place) -> None:
    """The example's tests and types, against what is installed: its sources are not there."""
    for name in ("pyproject.toml", "tests"):
        source, target = EXAMPLE.folder / name, place.folder / "clone" / name
        target.parent.mkdir(exist_ok=True)
        shutil.copytree(source, target) if source.is_dir() else shutil.copy2(source, target)
    clone = target.parent
    group = f"{clone / 'pyproject.toml'}:dev"
    place.run("uv", "pip", "install", "--quiet", "--python", place.bin.parent, "--group", group)
    place.run(place.bin / "python", "-m", "pytest", cwd=clone)
    place.run(place.bin / "python", "-m", "mypy", "tests", cwd=clone)
    place.run(place.bin / "python", "-m", "mypy", "-p", EXAMPLE.module, cwd=clone)


def check_switching_on(place: Place) -> None:
    """It is off until it is enabled; then ``info`` shows what it brings."""
    expect_state(place, "off")
    place.hookline("plugins", "enable", "standup")
    expect_state(place, "on")
    text = place.hookline("plugins", "info", "standup")
    for word in (EXAMPLE.name, "pre_prompt", "standup_note", "/standup-clear", "keep_days"):
        expect(found=word in text, wanted=True, what=f"plugins info names {word}")


def check_a_turn(place: Place) -> None:
    """The model keeps a note, ``/standup`` shows it, and a day later the model is reminded."""
    (place.folder / SCENARIO).write_text(json.dumps({"steps": STEPS}), "utf-8")
    said = run(place, "I wrote the parser; no reviewer")
    expect(found=said.strip(), wanted="It is noted.", what="the answer")
    shown = run(place, "/standup")
    expect(found="wrote the parser (blocked: no reviewer)" in shown, wanted=True, what="/standup")
    said = run(place, "good morning", "env", TOMORROW)
    expect(found=said.strip(), wanted="Is there a reviewer by now?", what="the reminded answer")


def check_removing(place: Place) -> None:
    """Disabled it is off and its notes stay; purged they are gone."""
    for last, left in (("disable", True), ("purge", False)):
        place.hookline("plugins", "disable", "standup")
        expect_state(place, "off")
        if last == "purge":
            place.hookline("plugins", "purge", "standup", "--yes")
        place.hookline("plugins", "enable", "standup")
        shown = run(place, "/standup")
        expect(found="wrote the parser" in shown, wanted=left, what=f"a note after {last}")


def run(place: Place, prompt: str, *before: str) -> str:
    """What ``hookline run`` prints for a prompt; ``before`` is put before the command."""
    model = ("--model", f"scripted/{SCENARIO}")
    return place.run(*before, place.bin / "hookline", "run", prompt, *model)


def expect_state(place: Place, wanted: str) -> None:
    """Raise CheckFailed unless ``plugins list`` shows the example in this state."""
    rows = json.loads(place.hookline("plugins", "list", "--json"))
    state = {row["name"]: row["state"] for row in rows}.get("standup")
    expect(found=state, wanted=wanted, what="state of standup")


def checks(place: Place, wheels: Path) -> list[tuple[str, Callable[[], None]]]:
    """The steps in order; each needs the one before."""
    return [
        ("build", partial(build, place, wheels)),
        ("install", lambda: place.install_wheels(*sorted(wheels.glob("*.whl")))),
        ("own tests", partial(check_own_tests, place)),
        ("switching on", partial(check_switching_on, place)),
        ("a turn", partial(check_a_turn, place)),
        ("removing", partial(check_removing, place)),
    ]


def main() -> int:
    """Run the checks; stop at the first that fails and print why."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="hookline-example-") as name:
        folder = Path(name)
        for what, check in checks(Place(folder / "place"), folder / "dist"):
            try:
                check()
            except CheckFailed as failure:
                print(f"example: {what} failed\n{failure}", file=sys.stderr)
                return 1
    print(f"example: installed, tested, used and removed in {time.monotonic() - begun:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
