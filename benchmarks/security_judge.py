"""What the shell judge stops, by class of harm: ``python benchmarks/security_judge.py``.

Judges the corpora ``hostile.classes.yaml`` and ``everyday.classes.yaml`` of the plugin shell, and
the variants beside them, as commands of the operator and of another person, without and with a
sandbox. The tables are Markdown: commands tried and stopped (asked about or denied) for each class
of hostile ones; commands tried and asked about (false alarms) for each class of everyday ones.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import yaml
from hookline.io.http.client import GuardedHttp
from hookline.io.http.policy import NetworkPolicy
from hookline.io.paths import PathGuard
from hookline_shell.judge import Judge, Setting

DATA = Path(__file__).parent.parent / "plugins" / "tools" / "shell" / "tests" / "data"
SETTINGS = {
    "operator": Setting(),
    "operator, sandboxed": Setting(sandboxed=True),
    "others": Setting(operator=False),
    "others, sandboxed": Setting(operator=False, sandboxed=True),
}


def corpus(name: str) -> Mapping[str, list[str]]:
    """The commands of ``NAME.classes.yaml`` by class, with the variants as one more."""
    found: dict[str, list[str]] = yaml.safe_load((DATA / f"{name}.classes.yaml").read_text("utf-8"))
    variants = yaml.safe_load((DATA / f"{name}.variants.yaml").read_text("utf-8"))
    return found | {"variants of all classes": variants}


class Bench:
    """A judge, with paths and addresses guarded as in a process of its own."""

    def __init__(self, folder: Path) -> None:
        workspace = folder / "workspace"
        workspace.mkdir()
        self._paths = PathGuard(workspace, [], folder / "home")
        self._url = GuardedHttp(NetworkPolicy()).check_url
        self._judge = Judge()

    def asked(self, commands: Iterable[str], setting: Setting) -> int:
        """How many of ``commands`` are asked about or denied in ``setting``."""
        judged = (self._judge.judge(c, self._paths, "", self._url, setting) for c in commands)
        return sum(verdict is not None for verdict in judged)

    def table(self, name: str, done: str) -> str:
        """The counts of one corpus; ``done`` is the word for what is not let through."""
        lines = [f"| {name} | tried | " + " | ".join(f"{done} ({s})" for s in SETTINGS) + " |"]
        lines.append("| --- " * (len(SETTINGS) + 2) + "|")
        sums = [0] * (len(SETTINGS) + 1)
        for group, commands in corpus(name).items():
            row = [len(commands), *(self.asked(commands, s) for s in SETTINGS.values())]
            sums = [total + number for total, number in zip(sums, row, strict=True)]
            lines.append(f"| {group} | " + " | ".join(map(str, row)) + " |")
        lines.append("| all | " + " | ".join(map(str, sums)) + " |")
        return "\n".join(lines)


def main() -> None:
    """Print the tables."""
    with tempfile.TemporaryDirectory(prefix="hookline-bench-", dir=Path.home()) as folder:
        bench = Bench(Path(folder))
        sys.stdout.write(bench.table("hostile", "stopped") + "\n\n")
        sys.stdout.write(bench.table("everyday", "asked about") + "\n")


if __name__ == "__main__":
    main()
