"""Attacks that plant files which programs or agents follow later, from inside the sandbox."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline_hookspecs import Question
from hookline_hookspecs.questions import ALLOW_ONCE
from hookline_shell import Shell

IN_A_PROJECT = {
    "AGENTS.md": "AGENTS.md",
    ".mcp.json": ".mcp.json",
    ".envrc": ".envrc",
    ".vscode/tasks.json": ".vscode",
    ".github/workflows/ci.yml": ".github/workflows",
    ".claude/settings.json": ".claude",
    ".husky/pre-commit": ".husky",
    ".npmrc": ".npmrc",
    "pip.conf": "pip.conf",
    "sub/deep/Claude.MD": "sub/deep/Claude.MD",
    ".cargo/config.toml": ".cargo/config.toml",
}
"""Files, and what is put aside."""
IN_A_HOME = (
    *(".bashrc", ".profile", ".ssh/authorized_keys", ".config/systemd/user/x.service"),
    *(".config/autostart/x.desktop", "Library/LaunchAgents/x.plist", ".config/fish/config.fish"),
    *(".gitconfig", ".npmrc", ".pypirc", ".config/pip/pip.conf", ".vim/plugin/x.vim"),
    *(".config/nvim/init.lua", ".local/bin/ls", "bin/ls", ".new-program/start"),
)
WRITE = """python3 - <<'END'
import os
for name in {names!r}:
    path = "".join(chr(ord(c)) for c in name)
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    open(path, "w").write("evil")
END"""


@pytest.fixture(
    params=["sandboxes", pytest.param("namespaces", marks=pytest.mark.slow), "landlock"]
)
def shell(
    request: pytest.FixtureRequest, make_plugin: Callable[..., Shell], tmp_path: Path
) -> Shell:
    """The plugin with each kind of sandbox in turn."""
    request.getfixturevalue(request.param)
    made = make_plugin(sandbox={"enabled": True})
    made.host.home = tmp_path / "hookline"
    return made


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def ctx(work: Path, make_context: Callable[..., Any]) -> Any:
    return make_context(work)


def planted(work: Path) -> list[str]:
    """The files in the workspace, without what git keeps."""
    found = (f"{top}/{name}" for top, _, names in os.walk(work) for name in names)
    return sorted(os.path.relpath(path, work) for path in found if "/.git/" not in path)


@pytest.mark.long
async def test_new_files_are_put_aside_and_asked_about(shell: Shell, ctx: Any, work: Path) -> None:
    await shell.bash(ctx, WRITE.format(names=[*IN_A_PROJECT]))
    assert planted(work) == []
    (question,) = ctx.asked
    assert "+evil" in question.preview
    for name in IN_A_PROJECT.values():
        assert f"+++ {name}" in question.preview


async def test_nothing_is_kept_where_nobody_can_be_asked(
    shell: Shell, work: Path, make_context: Callable[..., Any]
) -> None:
    ctx = make_context(work, interactive=False, approval="no")
    done = await shell.bash(ctx, WRITE.format(names=["AGENTS.md", "notes.txt"]))
    assert planted(work) == ["notes.txt"]
    assert any("AGENTS.md" in note and "nobody is here" in note for note in done.notes)
    assert ctx.asked == []


async def test_allowed_file_is_put_in_place_and_stays(shell: Shell, ctx: Any, work: Path) -> None:
    answered: list[Question] = []

    async def allow(question: Question) -> str:
        answered.append(question)
        return ALLOW_ONCE

    ctx.ask = allow
    await shell.bash(ctx, "mkdir .husky; echo run > .husky/pre-commit; chmod +x .husky/pre-commit")
    await shell.bash(ctx, "true")
    assert (work / ".husky" / "pre-commit").read_text() == "run\n"
    assert os.access(work / ".husky" / "pre-commit", os.X_OK)
    assert len(answered) == 1
    assert "(executable)" in answered[0].preview


async def test_start_up_files_of_a_home_are_not_planted(
    shell: Shell, ctx: Any, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(work))
    await shell.bash(ctx, WRITE.format(names=[*IN_A_HOME, "project/src/main.py"]))
    assert planted(work) == ["project/src/main.py"]


@pytest.mark.long
@pytest.mark.parametrize(
    "attack",
    [
        "mkdir -p x/workflows; echo evil > x/workflows/ci.yml; mv x .github",
        "mkdir x; echo evil > x/config.toml; ln -s x .cargo",
        "mkdir x; ln -s x .cargo; sleep .1; echo evil > x/config.toml",
        "mkdir sub; touch -r sub when; echo evil > sub/AGENTS.md; touch -r when sub",
        "echo evil > x; ln x AGENTS.md",
        "echo evil > x; ln -s x CLAUDE.md",
        "mkdir {1..4100}; mkdir zzz; echo evil > zzz/AGENTS.md",
        "mkdir -p a/b/c/d/e/f/g/h/i/j; echo evil > a/b/c/d/e/f/g/h/i/j/AGENTS.md",
        "git init -q sub; mkdir sub/.vscode; echo evil > sub/.vscode/tasks.json",
        "git init -q data; mv data/.git data/x; echo evil > data/x/hooks/post-checkout;"
        "mkdir -p m.x/modules; mv data/x m.x/modules/y; mkdir sub; "
        "echo gitdir: $PWD/m.x/modules/y > sub/.git",
        "mkdir foo.git; echo evil > foo.git/AGENTS.md",
        "echo evil > AGENTS.md; kill -9 $$",
    ],
)
async def test_disguised_control_file_is_put_aside(
    shell: Shell, ctx: Any, work: Path, attack: str
) -> None:
    (work / "sub0").mkdir()
    await shell.bash(ctx, "true")
    await shell.bash(ctx, attack)
    followed = ("AGENTS.md", "CLAUDE.md", ".github", ".vscode", ".cargo/config.toml", "sub/.git")
    left = [path for path in planted(work) if path.endswith(followed) or "/.github/" in path]
    assert left == []
    assert not (work / ".github" / "workflows").exists()
    assert not (work / ".cargo").is_symlink()


@pytest.mark.parametrize(
    "attack",
    [
        "git init -q --bare x",
        "git init -q --bare b.git; mkdir x; cp -r b.git/{HEAD,objects,refs} x",
        "git init -q --bare b.git; mkdir x; cp b.git/HEAD x; echo ../b.git > x/commondir",
    ],
)
async def test_repository_under_another_name_runs_nothing(
    shell: Shell, ctx: Any, work: Path, attack: str
) -> None:
    evil = "printf '[core]\\n\\tfsmonitor = ./evil\\n' >> x/config; cp x/config x/config.worktree"
    await shell.bash(ctx, f"{attack}; {evil}")
    read = subprocess.run(
        ["git", "--git-dir", "x", "config", "core.fsmonitor"], cwd=work, capture_output=True
    )
    assert read.stdout == b""
    assert not (work / "x" / "config.worktree").exists()


async def test_common_folder_of_a_linked_worktree_stays(shell: Shell, ctx: Any, work: Path) -> None:
    made = "git init -q . && git commit -q --allow-empty -m x && git worktree add -q tree"
    subprocess.run(["bash", "-c", made], cwd=work, check=True, env={**os.environ, **_identity()})
    common = work / ".git" / "worktrees" / "tree" / "commondir"
    await shell.bash(ctx, f"git init -q evil; echo $PWD/evil/.git > {common}")
    assert common.read_text() == "../..\n"


def _identity() -> dict[str, str]:
    names = ("AUTHOR", "COMMITTER")
    named = {f"GIT_{name}_NAME": "a" for name in names}
    return named | {f"GIT_{name}_EMAIL": "a@b.example" for name in names}


@pytest.mark.long
async def test_background_job_cannot_plant_after_its_command(
    shell: Shell, ctx: Any, work: Path
) -> None:
    await shell.bash(ctx, "(sleep .5; echo evil > AGENTS.md; touch done; sleep 1000) & true")
    async with asyncio.timeout(30):
        while not (work / "done").exists():
            await asyncio.sleep(0.05)
        while (work / "AGENTS.md").exists():
            await asyncio.sleep(0.05)
    await shell.bash(ctx, "true")
    assert "AGENTS.md" in ctx.told[0]


KILLED = """
import asyncio, sys
from pathlib import Path
from plugins.tools.shell.tests.conftest import context, plugin

async def main():
    shell = plugin(sandbox={"enabled": True})
    shell.host.home = Path(sys.argv[2])
    job = "while :; do sleep .02; mkdir -p .vscode; echo evil > .vscode/tasks.json; done"
    await shell.bash(context(Path(sys.argv[1])), f"({job}) & true")
    print("started", flush=True)
    await asyncio.sleep(1000)

asyncio.run(main())
"""


BARE = """
import hookline_sandbox.methods as methods
methods._bubblewrap = lambda: ("no", "")
methods.namespaces_failure = lambda: "no"
"""


@pytest.mark.long
@pytest.mark.parametrize("is_bare", [False, True], ids=["best", "Landlock"])
def test_next_start_ends_and_undoes_what_a_killed_hookline_left(
    make_plugin: Callable[..., Shell], work: Path, tmp_path: Path, request: Any, is_bare: bool
) -> None:
    request.getfixturevalue("landlock" if is_bare else "sandboxes")
    code = BARE + KILLED if is_bare else KILLED
    home = tmp_path / "hookline"
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(work), str(home)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[4],
        env={**os.environ, "PYTHONPATH": f"tests:{Path(__file__).parents[4]}"},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"started\n"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    (work / "mine.txt").write_text("mine")
    shell = make_plugin(sandbox={"enabled": True})
    shell.host.home = home
    shell.setup(shell.host)
    assert planted(work) == ["mine.txt"]
    assert list((home / "removed-control-files").rglob("tasks.json"))
    subprocess.run(["sleep", "0.5"], check=True)
    assert planted(work) == ["mine.txt"]
