"""Parts as a stranger writes them from Claude Code's documentation work unchanged."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline_hookspecs import Plugin, tool

from .conftest import Make, write, write_json

pytestmark = pytest.mark.skipif(not shutil.which("jq"), reason="these hooks need jq")


class Tools(Plugin):
    """Stands for Hookline's own tools."""

    @tool
    def bash(self, command: str) -> str:
        """Run a command."""
        return f"output of {command}"

    @tool(read_only=True)
    def read_file(self, path: str) -> str:
        """Read a file."""
        return "content"

    @tool
    def write_file(self, path: str, content: str) -> str:
        """Write a file."""
        return "written"

    @tool(read_only=True)
    def grep(self, pattern: str) -> str:
        """Search."""
        return "found"


def settings(workspace: Path, event: str, script: str, matcher: str | None = None) -> None:
    """A hook script in .claude/hooks, named by .claude/settings.json."""
    write(workspace / ".claude/hooks/hook.sh", f"#!/bin/bash\n{script}\n", executable=True)
    command = '"$CLAUDE_PROJECT_DIR"/.claude/hooks/hook.sh'
    group: dict[str, Any] = {"hooks": [{"type": "command", "command": command}]}
    if matcher is not None:
        group["matcher"] = matcher
    write_json(workspace / ".claude/settings.json", {"hooks": {event: [group]}})


def trusting(make: Make, workspace: Path, *plugins: Any, **options: Any) -> Harness:
    h = make(*plugins, Tools, workspace=workspace, **options)
    done = h.cli(f"trust {workspace} --yes")
    assert done.exit_code == 0, done.stderr
    return h


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


# Hooks


def test_hook_that_blocks_a_command_by_its_exit_code(make: Make, workspace: Path) -> None:
    script = (
        "command=$(jq -r '.tool_input.command // empty')\n"
        'if [[ "$command" =~ rm\\ -rf ]]; then echo "Blocked: rm -rf" >&2; exit 2; fi\nexit 0'
    )
    settings(workspace, "PreToolUse", script, "Bash")
    model = [[calls("bash", command="rm -rf /"), calls("bash", command="ls")], "done"]
    first, second = trusting(make, workspace, model=model).send("go").tool_calls
    assert first.text == "Denied: claude-project: Blocked: rm -rf"
    assert second.text == "output of ls"


def test_hook_that_protects_files_by_json(make: Make, workspace: Path) -> None:
    script = """path=$(jq -r '.tool_input.file_path')
case "$path" in
  */.env) jq -n '{hookSpecificOutput: {hookEventName: "PreToolUse", permissionDecision: "deny",
            permissionDecisionReason: "Sensitive file"}}' ;;
esac"""
    settings(workspace, "PreToolUse", script, "Edit|Write")
    model = [
        [
            calls("write_file", path=".env", content="x"),
            calls("write_file", path="a.py", content="x"),
        ],
        "done",
    ]
    first, second = trusting(make, workspace, model=model).send("go").tool_calls
    assert first.text == "Denied: claude-project: Sensitive file"
    assert second.text == "written"


def test_hook_that_logs_what_a_command_printed(make: Make, workspace: Path) -> None:
    script = (
        "jq -r '\"\\(.hook_event_name) \\(.tool_name) \\(.tool_response.stdout)\"'"
        ' >> "$CLAUDE_PROJECT_DIR/log.txt"'
    )
    settings(workspace, "PostToolUse", script, "Bash")
    trusting(make, workspace, model=[calls("bash", command="ls"), "done"]).send("go")
    assert (workspace / "log.txt").read_text() == "PostToolUse Bash output of ls\n"


def test_hook_that_adds_context_to_a_prompt(make: Make, workspace: Path) -> None:
    script = 'prompt=$(jq -r .prompt)\necho "The branch is main; you asked: $prompt"'
    settings(workspace, "UserPromptSubmit", script)
    h = trusting(make, workspace, model=["hi"])
    h.send("hello there")
    assert "The branch is main; you asked: hello there" in str(h.model.requests[0])


def test_hook_that_loads_context_at_the_start(make: Make, workspace: Path) -> None:
    script = """source=$(jq -r .source)
jq -n --arg s "$source" '{hookSpecificOutput: {hookEventName: "SessionStart",
  additionalContext: ("Open issues: 3 (" + $s + ")")}}'"""
    settings(workspace, "SessionStart", script, "startup")
    h = trusting(make, workspace, model=["hi"])
    h.send("hello", session="new")
    assert "Open issues: 3 (startup)" in str(h.model.requests[0])


def test_hook_of_the_person_names_its_script_by_the_home(
    make: Make, person: Path, workspace: Path
) -> None:
    write(person / ".claude/hooks/guard.sh", "#!/bin/bash\necho no >&2; exit 2\n", executable=True)
    hooks = [{"type": "command", "command": "~/.claude/hooks/guard.sh"}]
    groups = [{"matcher": "Bash", "hooks": hooks}]
    write_json(person / ".claude/settings.json", {"hooks": {"PreToolUse": groups}})
    model = [calls("bash", command="ls"), "done"]
    h = make(Tools, workspace=workspace, model=model)
    h.cli(f"trust {person} --yes")
    assert h.send("go").tool_calls[0].text == "Denied: claude-user: no"


# Commands


@pytest.mark.parametrize(
    ("file", "text", "typed", "sent"),
    [
        ("fix-issue.md", "Fix issue #$ARGUMENTS by our rules.", "/fix-issue 123 high", "#123 high"),
        (
            "review-pr.md",
            "---\nargument-hint: [pr] [priority]\ndescription: Review\n---\nReview PR #$1, $2.",
            "/review-pr 456 high",
            "Review PR #456, high.",
        ),
        (
            "migrate.md",
            "---\ndescription: Migrate\n---\nMove $0 from $1 to $2.",
            '/migrate "Search Bar" React Vue',
            "Move Search Bar from React to Vue.",
        ),
        ("frontend/component.md", "Make a component.", "/component Button", "ARGUMENTS: Button"),
        (
            "optimize.md",
            "---\nallowed-tools: Read, Grep\nmodel: sonnet\n---\nLook at @notes.md closely.",
            "/optimize",
            "Look at @notes.md closely.",
        ),
    ],
)
def test_command(make: Make, workspace: Path, file: str, text: str, typed: str, sent: str) -> None:
    write(workspace / "notes.md", "the notes")
    write(workspace / ".claude/commands" / file, text)
    h = trusting(make, workspace, model=["done"])
    assert h.send(typed).text == "done"
    assert sent in str(h.model.requests[0].messages[-1])


def test_file_that_a_command_names_is_read(make: Make, workspace: Path) -> None:
    references = pytest.importorskip("hookline_context_refs").ContextRefs
    write(workspace / "notes.md", "the notes say so")
    write(workspace / ".claude/commands/look.md", "Look at @notes.md closely.")
    h = trusting(make, workspace, references, model=["done"])
    h.send("/look")
    assert "the notes say so" in str(h.model.requests[0])


# Sub-agents


@pytest.mark.parametrize(
    ("front", "tools"),
    [
        ("", {"bash", "read_file", "write_file", "grep"}),
        ("tools: Read, Grep, Glob\nmodel: sonnet\n", {"read_file", "grep"}),
        ("tools:\n  - Read\n  - Bash\nmodel: inherit\ncolor: blue\n", {"read_file", "bash"}),
        ("disallowedTools: Write, Edit\n", {"bash", "read_file", "grep"}),
        ("tools: Bash(git:*), Read, Agent(helper)\nmaxTurns: 5\n", {"bash", "read_file"}),
    ],
)
def test_sub_agent(make: Make, workspace: Path, front: str, tools: set[str]) -> None:
    delegate = pytest.importorskip("hookline_delegate").Delegate
    write(
        workspace / ".claude/agents/code-reviewer.md",
        "---\nname: code-reviewer\ndescription: Expert reviewer. Use proactively after changes.\n"
        f"{front}---\n\nYou are a senior code reviewer.\n\n1. Run git diff\n",
    )
    call = calls("delegate", task="look", agent="code-reviewer")
    h = trusting(make, workspace, delegate, model=[call, "report", "done"])
    assert h.send("review").text == "done"
    parent, child = h.model.requests[:2]
    assert "code-reviewer: Expert reviewer" in parent.system
    assert "You are a senior code reviewer." in str(child)
    assert {one.name for one in child.tools} == tools


# Skills


@pytest.mark.parametrize(
    "front",
    [
        "name: explain-code\ndescription: Explains code with diagrams.\n",
        "description: Explains code with diagrams.\n",
        "name: explain-code\ndescription: Explains code.\nallowed-tools: Read Grep Bash(git *)\n",
        "name: explain-code\ndescription: Explains code.\nargument-hint: [file]\nmodel: sonnet\n",
        "name: explain-code\ndescription: |\n  Explains code.\n  Use it often.\nversion: 1.0.0\n",
    ],
)
def test_skill(make: Make, workspace: Path, front: str) -> None:
    skills = pytest.importorskip("hookline_skills").Skills
    folder = workspace / ".claude/skills/explain-code"
    write(folder / "SKILL.md", f"---\n{front}---\n\nStart with an analogy. See reference.md.\n")
    write(folder / "reference.md", "More about diagrams.")
    name = "claude-project:explain-code"
    model = [
        [calls("skill_view", name=name), calls("skill_view", name=name, file="reference.md")],
        "done",
    ]
    h = trusting(make, workspace, skills, model=model)
    viewed, reference = h.send("explain", session="new").tool_calls
    assert "explain-code" in h.model.requests[0].system
    assert "Start with an analogy" in viewed.text
    assert "More about diagrams" in reference.text


def test_skill_that_only_the_person_uses_is_a_command(make: Make, workspace: Path) -> None:
    skills = pytest.importorskip("hookline_skills").Skills
    text = (
        "---\nname: deploy\ndescription: Deploys.\ndisable-model-invocation: true\n---\n\n"
        "Deploy $ARGUMENTS with ${CLAUDE_SKILL_DIR}/deploy.sh.\n"
    )
    write(workspace / ".claude/skills/deploy/SKILL.md", text)
    h = trusting(make, workspace, skills, model=["deployed"])
    assert h.send("/deploy to staging", session="new").text == "deployed"
    request = h.model.requests[0]
    folder = workspace / ".claude/skills/deploy"
    assert f"Deploy to staging with {folder}/deploy.sh." in str(request.messages[-1])
    assert "claude-project:deploy" not in request.system
