"""Everyday work in the sandbox: git, builds, packages; and what must not outlast a command."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hookline_hookspecs import Question
from hookline_sandbox import Method, found
from hookline_shell import Shell


def git(folder: Path, *arguments: str) -> str:
    """Run git as the person does, outside of the sandbox."""
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's home with a git identity and an alias."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    home = tmp_path / "person"
    home.mkdir()
    (home / ".gitconfig").write_text(
        "[user]\n\tname = Ada\n\temail = ada@example.org\n[alias]\n\tx = !secret-program\n"
        "[init]\n\tdefaultBranch = main\n"
    )
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL"):
        monkeypatch.delenv(name, raising=False)
    return home


@pytest.fixture
def project(person: Path) -> Path:
    """A repository with two branches, a stash, a remote, and a committed key for tests."""
    origin = person / "origin.git"
    folder = person / "project"
    git(person, "init", "-q", "--bare", str(origin))
    git(person, "clone", "-q", str(origin), str(folder))
    for name in ("a.txt", "Makefile", "fixtures/server.key"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("all:\n\ttouch built\n" if name == "Makefile" else f"{name}\n")
    (folder / ".gitignore").write_text(".env\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    git(folder, "push", "-q", "origin", "HEAD:main", "HEAD:topic")
    git(folder, "fetch", "-q")
    git(folder, "branch", "side")
    (folder / ".env").write_text("KEY=very-secret")
    return folder


@pytest.fixture(
    params=["sandboxes", "landlock", pytest.param("namespaces", marks=pytest.mark.slow)]
)
async def sandboxed_shell(
    request: pytest.FixtureRequest, make_plugin: Callable[..., Shell], tmp_path: Path
) -> AsyncIterator[Shell]:
    request.getfixturevalue(request.param)
    shell = make_plugin(sandbox={"enabled": True})
    shell.host.home = tmp_path / "hookline"
    yield shell
    await shell.teardown(shell.host)


@pytest.fixture
def run(
    sandboxed_shell: Shell, project: Path, make_context: Callable[..., Any]
) -> Callable[..., Any]:
    """Runs a command in the project."""
    ctx = make_context(project)
    return lambda command, **options: sandboxed_shell.bash(ctx, command, **options)


NOT_WITH_LANDLOCK = ("multiprocessing", "temporary")
TASKS: dict[str, str] = yaml.safe_load(
    (Path(__file__).parent / "data" / "everyday_tasks.yaml").read_text()
)


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
async def test_everyday_task_works(run: Callable[..., Any], project: Path, task: str) -> None:
    if found().method is Method.LANDLOCK and task in NOT_WITH_LANDLOCK:
        pytest.skip("Landlock shows no /dev/shm and no /tmp of the program's own")
    result = await run(TASKS[task], timeout=60)
    assert result.ok, result.text
    assert not any("put back" in note for note in result.notes), result.notes
    assert (project / ".env").read_text() == "KEY=very-secret"


async def test_git_work_commits_as_the_person(run: Callable[..., Any], project: Path) -> None:
    result = await run(
        "echo b > b && git add -A && git commit -qm second && git stash list && "
        "git config user.email new@example.org && git checkout -q --track origin/topic"
    )
    assert result.ok, result.text
    assert result.notes == ()
    assert git(project, "log", "-1", "--format=%an %ae", "--all", "--grep=second") == (
        "Ada ada@example.org"
    )
    assert git(project, "config", "branch.topic.remote") == "origin"
    assert git(project, "config", "user.email") == "new@example.org"


@pytest.mark.long
async def test_home_of_the_person_is_not_the_home_inside(
    sandboxed_shell: Shell, person: Path, project: Path, make_context: Callable[..., Any]
) -> None:
    for workspace in (person, project):
        ctx = make_context(workspace)
        await sandboxed_shell.bash(ctx, 'rm -rf ~ ~/* ~/.[!.]* "$HOME"; cd; rm -rf -- *; true')
        listed = await sandboxed_shell.bash(ctx, "git config --global --list")
        assert "ada@example.org" in listed.text
        assert "alias" not in listed.text
    assert git(project, "log", "--oneline")
    assert (project / "a.txt").exists()


async def test_changes_that_run_programs_are_put_back(
    run: Callable[..., Any], project: Path, person: Path
) -> None:
    (project / "docs").mkdir()
    (project / "docs" / "agents.txt").write_text("mine")
    (project / "CLAUDE.md").symlink_to("docs/agents.txt")
    before = (project / ".git" / "config").read_text()
    result = await run(
        "git config core.fsmonitor ./evil; git config alias.status '!./evil';"
        "git config remote.origin.url https://evil.example/x; git remote add more ./evil;"
        "git config include.path ../evil; git config branch.side.remote https://evil.example;"
        "git config user.name Eve;"
        "mkdir -p .husky .github/workflows; echo x > .husky/pre-commit; echo x > AGENTS.md;"
        "echo x > .github/workflows/ci.yml; ln -s a.txt GEMINI.md; echo x > .git/info/attributes;"
        "rm CLAUDE.md; echo evil > CLAUDE.md; mkdir sub; echo 'gitdir: ../bad' > sub/.git; true"
    )
    assert result.ok, result.text
    config = (project / ".git" / "config").read_text()
    assert config == before + "[user]\n\tname = Eve\n"
    for name in (".husky", "AGENTS.md", "GEMINI.md", ".github/workflows", "sub/.git"):
        assert not (project / name).is_symlink()
        assert not (project / name).exists(), name
    assert not (project / ".git" / "info" / "attributes").exists()
    assert (project / "CLAUDE.md").read_text() == "mine"
    put_back, not_kept = result.notes
    assert "core.fsmonitor" in put_back
    assert "AGENTS.md" in not_kept
    kept = (person.parent / "hookline" / "removed-control-files").rglob("AGENTS.md")
    assert [file.read_text() for file in kept] == ["x\n"]


async def test_new_repository_loses_what_programs_and_agents_follow(
    run: Callable[..., Any], project: Path
) -> None:
    result = await run(
        "git init -q new && git -C new config core.fsmonitor ./evil && "
        "echo x > new/.git/hooks/pre-commit && echo x > new/AGENTS.md"
    )
    assert result.ok, result.text
    assert "fsmonitor" not in (project / "new" / ".git" / "config").read_text()
    assert not (project / "new" / ".git" / "hooks" / "pre-commit").exists()
    assert not (project / "new" / "AGENTS.md").exists()


@pytest.mark.parametrize("sandboxed_shell", ["sandboxes"], indirect=True)
async def test_tracked_file_is_not_covered_unless_its_content_is_secret(
    run: Callable[..., Any], project: Path
) -> None:
    assert (await run("cat fixtures/server.key")).text.startswith("fixtures/server.key")
    # Listed in the index, but with other content than the file's.
    blob = "$(echo guess | git hash-object -w --stdin)"
    await run(f"git update-index --add --cacheinfo 100644,{blob},.env")
    assert "very-secret" not in (await run("cat .env")).text


@pytest.mark.long
async def test_linked_worktree_and_submodule_can_commit(
    sandboxed_shell: Shell, person: Path, project: Path, make_context: Callable[..., Any]
) -> None:
    linked = person / "linked"
    git(project, "worktree", "add", "-q", str(linked), "side")
    git(
        project,
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "add",
        "-q",
        "../origin.git",
        "sub",
    )
    command = (
        "echo c > c && git add c && git commit -qm inside && git status --porcelain | wc -l; "
        "d=$(git rev-parse --git-common-dir); echo x > $d/hooks/pre-commit; "
        "git config core.fsmonitor ./evil; true"
    )
    for workspace in (linked, project / "sub"):
        result = await sandboxed_shell.bash(make_context(workspace), command)
        assert result.text.startswith("0\n"), result.text
        assert git(workspace, "log", "-1", "--format=%an %s") == "Ada inside"
        assert "fsmonitor" not in git(workspace, "config", "--list")
        common = workspace / git(workspace, "rev-parse", "--git-common-dir")
        assert not (common / "hooks" / "pre-commit").exists()


async def test_git_file_of_another_repository_shows_nothing(
    sandboxed_shell: Shell, person: Path, project: Path, make_context: Callable[..., Any]
) -> None:
    lure = person / "lure"
    lure.mkdir()
    (lure / ".git").write_text(f"gitdir: {project}/.git\n")
    result = await sandboxed_shell.bash(make_context(lure), f"git log; ls {project}")
    assert not result.ok
    assert "a.txt" not in result.text


@pytest.mark.long
async def test_control_files_are_put_back_before_a_question(
    sandboxed_shell: Shell, run: Callable[..., Any], project: Path, make_context: Callable[..., Any]
) -> None:
    await run("(sleep 1; echo x > GEMINI.md; git config core.fsmonitor ./evil; sleep 60) & true")
    while not (project / "GEMINI.md").exists() or "evil" not in git(project, "config", "-l"):
        await asyncio.sleep(0.1)
    await sandboxed_shell.on_question(make_context(project), Question("Allow?"))
    assert not (project / "GEMINI.md").exists()
    assert "evil" not in git(project, "config", "-l")
    (project / "GEMINI.md").write_text("planted again")
    await sandboxed_shell.end_of_session(make_context(project), make_context(project).session)
    assert not (project / "GEMINI.md").exists()


async def test_folder_without_rights_is_put_back_too(
    sandboxed_shell: Shell, run: Callable[..., Any], project: Path
) -> None:
    hook = project / ".git" / "hooks" / "pre-commit"
    result = await run(
        "mkdir .husky; echo x > .husky/a; echo x > .git/hooks/pre-commit; echo x > AGENTS.md;"
        "chmod 0 .git/hooks; chmod 500 .git .husky .; true"
    )
    assert result.ok
    (project / ".git").chmod(0o700)
    assert not hook.exists()
    assert not (project / "AGENTS.md").exists()
    assert not (project / ".husky").exists()
    assert git(project, "status")
