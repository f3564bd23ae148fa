"""An agent works in a repository of 1,200 files: it fixes, tests and breaks it, and a
rewind restores what it broke. Nobody is there to approve, and nothing needs approval."""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from support.machine import Finished, Machine
from support.model_servers import Step, openai

Say = Callable[[Sequence[Step], str], Finished]
PACKAGES, MODULES = 40, 30
MEND: list[Step] = [
    [("grep", {"pattern": "def price", "glob": "*.py"}), ("glob", {"pattern": "**/test_*.py"})],
    [("read_file", {"path": "shop/p7/m3.py"})],
    [
        (
            "edit_file",
            {
                "path": "shop/p7/m3.py",
                "old_string": "def price(net):\n  return net + 0.19",
                "new_string": "def price(net):\n  return net * 1.19",
            },
        )
    ],
    [("bash", {"command": "python3 -m unittest -q 2>&1 | tail -3; git status --short"})],
    "Mended: the tax is multiplied now.",
]
BREAK: list[Step] = [
    [("bash", {"command": "rm -rf shop/p9 && mkdir -p notes && echo plan > notes/plan.txt"})],
    [("write_file", {"path": "shop/p1/m1.py", "content": "raise SystemExit(1)\n"})],
    [("bash", {"command": "git mv shop/p2/m2.py shop/p2/moved.py; python3 -m unittest -q"})],
    "I have cleaned up.",
]


@pytest.fixture
def repository(machine: Machine) -> Path:
    """1,200 modules in a git repository, one of them wrong, and a test that says so."""
    root = machine.workspace
    for package in range(PACKAGES):
        folder = root / "shop" / f"p{package}"
        folder.mkdir(parents=True)
        (folder / "__init__.py").touch()
        for module in range(MODULES):
            (folder / f"m{module}.py").write_text(f'"""Module {module}."""\n\nNUMBER = {module}\n')
    (root / "shop" / "p7" / "m3.py").write_text("def price(net):\n    return net + 0.19\n")
    (root / "test_shop.py").write_text(
        "import unittest\nfrom shop.p7.m3 import price\nfrom shop.p9 import m1\n\n\n"
        "class Test(unittest.TestCase):\n    def test_price(self):\n"
        "        self.assertAlmostEqual(price(100), 119)\n"
    )
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "all")
    machine.config("plugins:\n  checkpoints: true\n  titles: false\n")
    return root


def git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=root, check=True)


@pytest.fixture(params=["scripted", pytest.param("openai", marks=pytest.mark.slow)])
def say(request: pytest.FixtureRequest, machine: Machine) -> Say:
    """Runs one turn of session ``s`` on either model."""

    def scripted(steps: Sequence[Step], text: str) -> Finished:
        played = [
            {"text": step}
            if isinstance(step, str)
            else {"tools": [{"name": name, "arguments": given} for name, given in step]}
            for step in steps
        ]
        model = machine.script(*played)
        return machine.run("run", text, "--session", "s", "--json", "--no-input", "--model", model)

    def wired(steps: Sequence[Step], text: str) -> Finished:
        wire = openai(steps)
        machine.env["HOOKLINE_MODEL"] = "openai/gpt-5"
        with wire.server:
            done = machine.run("run", text, "--session", "s", "--json", "--no-input", env=wire.env)
        assert wire.never_refused()
        return done

    return scripted if request.param == "scripted" else wired


def assert_worked(done: Finished, calls: int) -> None:
    """The turn ended well and nothing it did was stopped."""
    assert done.code == 0, done.err
    assert done.result["tool_calls"] == calls
    stopped = [e for e in done.events if e.get("text", "").startswith("Denied: ")]
    assert stopped == []


def contents(root: Path) -> dict[str, bytes]:
    """Every file but git's own, without what Python compiled."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and not {".git", "__pycache__"} & set(path.parts)
    }


def git_digest(root: Path) -> str:
    """A digest of the repository's own HEAD, index, refs and objects."""
    digest = hashlib.sha256()
    for path in sorted((root / ".git").rglob("*")):
        if path.is_file():
            digest.update(str(path).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


@pytest.mark.slow
def test_agent_edits_tests_breaks_and_rewinds_a_repository(
    machine: Machine, repository: Path, say: Say
) -> None:
    assert len(contents(repository)) > 1000
    assert_worked(say(MEND, "The test of the price fails. Mend it."), 5)
    assert "net * 1.19" in (repository / "shop/p7/m3.py").read_text()
    mended = contents(repository)

    assert_worked(say(BREAK, "Clean up."), 3)
    broken = contents(repository)
    assert "shop/p9/m1.py" not in broken
    assert "notes/plan.txt" in broken

    listed = machine.run("run", "/rewind", "--session", "s").out
    checkpoint = re.findall(r"^([0-9a-f]{6,64})\s", listed, re.MULTILINE)[0]
    assert "Clean up." in listed
    before = git_digest(repository)
    rewound = machine.run("run", f"/rewind {checkpoint}", "--session", "s")
    assert rewound.code == 0, rewound.err
    assert contents(repository) == mended
    assert git_digest(repository) == before
    assert "notes/plan.txt" in rewound.out

    (undo,) = re.findall(r"/rewind ([0-9a-f]{6,64})", rewound.out)
    assert machine.run("run", f"/rewind {undo}", "--session", "s").code == 0
    assert contents(repository) == broken
