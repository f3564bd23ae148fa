"""What bundles cost: nothing without one, little with ten.

``python benchmarks/bundles_cost.py [TURNS]`` compares turns of one tool call with the plugin on and
off where there is no bundle, and with ten bundles of five skills, a command, a sub-agent and a
guard. It prints processor time in milliseconds, the best of five runs, and tokens of the first
request as its characters divided by 4.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from hookline.testing import calls
from hookline.testing.harness import Harness
from hookline_bundles import Bundles
from hookline_delegate import Delegate
from hookline_hookspecs import Plugin, tool
from hookline_skills import Skills

RUNS = 5
BUNDLES = 10
CHARS_PER_TOKEN = 4


class Desk(Plugin[Any]):
    """A tool."""

    @tool
    def write_file(self, path: str) -> str:
        """Write a file."""
        return "written"


def measure(turns: int, *plugins: type[Plugin[Any]], bundles: int = 0) -> tuple[float, int]:
    """Return the milliseconds of a turn, and the characters of the first request."""
    steps: list[Any] = []
    for _ in range(turns + 1):
        steps += [[calls("write_file", path="a")], "done"]
    with tempfile.TemporaryDirectory() as folder:
        harness = Harness(*plugins, Desk, Skills, Delegate, home=Path(folder, "home"), model=steps)
        for number in range(bundles):
            add(harness, Path(folder), number)
        harness.send("go", session="first")
        first = harness.model.requests[0]
        tools = [[one.name, one.description, one.parameters] for one in first.tools]
        size = len(first.system) + len(json.dumps(tools, separators=(",", ":")))
        started = time.process_time()
        for _ in range(turns):
            harness.send("go", session="first")
        spent = (time.process_time() - started) / turns * 1000
        harness.close()
    return spent, size


def add(harness: Harness, folder: Path, number: int) -> None:
    """Write a bundle and add it. Its guard is for another tool."""
    root = folder / f"bundle-{number}"
    hook = {"matcher": "Bash", "hooks": [{"type": "command", "command": "exit 0"}]}
    files = {
        ".claude-plugin/plugin.json": json.dumps({"name": f"bundle-{number}"}),
        "commands/review.md": "---\ndescription: Review\n---\nReview $ARGUMENTS\n",
        "agents/agent.md": f"---\nname: agent-{number}\ndescription: Checks work.\n---\nCheck.\n",
        "hooks/hooks.json": json.dumps({"hooks": {"PreToolUse": [hook]}}),
    }
    for skill in range(5):
        name = f"skill-{number}-{skill}"
        text = f"---\nname: {name}\ndescription: {'Long words. ' * 20}\n---\nDo it.\n"
        files[f"skills/{name}/SKILL.md"] = text
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")
    done = harness.cli(f"bundles add {root} --yes")
    if done.exit_code:
        raise SystemExit(done.stderr)


def main() -> None:
    """Print the comparison."""
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    off = [measure(turns) for _ in range(RUNS)]
    empty = [measure(turns, Bundles) for _ in range(RUNS)]
    ten = [measure(turns, Bundles, bundles=BUNDLES) for _ in range(RUNS)]
    base, size = min(one[0] for one in off), off[0][1]
    for name, runs in (("no bundle", empty), (f"{BUNDLES} bundles", ten)):
        spent, tokens = min(one[0] for one in runs) - base, (runs[0][1] - size) / CHARS_PER_TOKEN
        sys.stdout.write(f"{name}: {spent:+.2f} ms a turn, {tokens:+.0f} tokens\n")


if __name__ == "__main__":
    main()
