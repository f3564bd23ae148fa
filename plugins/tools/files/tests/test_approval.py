"""Writes to files that run by themselves or instruct agents need approval of the whole change."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from hookline.testing import calls
from hookline_files import Files
from hookline_hookspecs import Attachment, Refused, ToolCall, ToolError

HOOK = ".git/hooks/pre-commit"


class ApprovalBench:
    """A session in a workspace, with the approvals that its calls need."""

    def __init__(self, harness, root: Path, *answers: str, **options) -> None:
        self.root = root
        root.mkdir(exist_ok=True)
        self.h = harness(Files, workspace=root, answers=answers, **options)

    def __call__(self, name: str, **arguments) -> str:
        self.h.model.steps += [calls(name, **arguments), "done"]
        return self.h.send("go").tool_calls[0].text

    def put(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def effects(self, name: str, **arguments) -> list[tuple[str, str]]:
        plugin = self.h.plugin(Files)
        tool = self.h.runtime.engine.tools.get(name)
        ctx = type("C", (), {"paths": plugin.host.paths})()
        found = tool.effects(ctx, ToolCall("1", name, arguments))
        return [(effect.kind, str(Path(effect.target).name)) for effect in found]


@pytest.fixture
def make_session(harness, tmp_path):
    return lambda *answers: ApprovalBench(harness, tmp_path / "work", *answers)


@pytest.mark.parametrize(
    "path",
    [HOOK, ".git/config", ".vscode/tasks.json", ".husky/pre-push", ".github/workflows/ci.yml",
     "AGENTS.md", "sub/CLAUDE.md", ".mcp.json", "sitecustomize.py", ".GIT/config", "link/x"],
)  # fmt: skip
def test_write_to_a_control_file_needs_approval(make_session, path):
    bench = make_session("Deny")
    (bench.root / ".git").mkdir()
    (bench.root / "link").symlink_to(".git")
    assert bench("write_file", path=path, content="owned\n").startswith("Denied: ")
    (question,) = bench.h.questions
    assert "owned" in question.preview
    assert not (bench.root / path).exists()


def test_approved_write_is_made(make_session):
    bench = make_session("Allow once")
    assert bench("write_file", path=HOOK, content="x\n").startswith("Created")
    assert (bench.root / HOOK).read_text() == "x\n"


@pytest.mark.long
def test_approval_shows_the_whole_change(make_session):
    bench = make_session("Deny", "Deny")
    bench.put("AGENTS.md", "".join(f"line {n}\n" for n in range(2000)))
    new = "".join(f"line {n}\n" for n in range(1, 2000)) + "obey me\n"
    bench("write_file", path="AGENTS.md", content=new)
    bench("edit_file", path="AGENTS.md", old_string="line 7\n", new_string="line seven\n")
    first, second = bench.h.questions
    assert first.preview.startswith("--- AGENTS.md\n+++ AGENTS.md\n@@ ")
    assert {"-line 0", "+obey me"} <= set(first.preview.splitlines())
    assert "-line 7\n+line seven\n" in second.preview
    assert "instructs agents" in first.text


def test_approval_of_a_failing_edit_shows_its_arguments(make_session):
    bench = make_session("Allow once")
    bench.put("AGENTS.md", "a\n")
    assert (
        bench("edit_file", path="AGENTS.md", old_string="nowhere", new_string="x")[:6] == "Error:"
    )
    assert "nowhere" in bench.h.questions[0].preview


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("Makefile", "all:\n\ttrue\n", "all:\n\tfalse\n"),
        ("src/app.py", "a = 1\n", "a = 2\n"),
        ("package.json", '{"version": "1"}', '{"version": "2", "scripts": {"test": "x"}}'),
        ("pyproject.toml", "[project]\nname = 'a'\n", "[project]\nname = 'b'\n"),
        ("conftest.py", "", "import os\n"),
    ],
)
def test_ordinary_writes_need_no_approval(make_session, path, before, after):
    bench = make_session()
    bench.put(path, before)
    assert bench("write_file", path=path, content=after).startswith("Replaced")
    assert bench.h.questions == []


def test_install_scripts_need_approval(make_session):
    bench = make_session("Deny", "Deny", "Deny")
    manifest = json.dumps({"scripts": {"test": "a", "x": "a"}})
    bench.put("package.json", manifest)
    bench.put("link.json", "")
    (bench.root / "link.json").unlink()
    (bench.root / "link.json").symlink_to("package.json")
    hooked = json.dumps({"scripts": {"postinstall": "curl x | sh"}})
    for path in ("package.json", "link.json"):
        assert bench("write_file", path=path, content=hooked).startswith("Denied: ")
    edit = {"old_string": '"a"', "new_string": '"a", "install": "b"', "replace_all": "yes"}
    assert bench("edit_file", path="package.json", **edit).startswith("Denied: ")
    assert len(bench.h.questions) == 3
    assert "scripts.postinstall" in bench.h.questions[0].text
    assert (bench.root / "package.json").read_text() == manifest


def test_effects_of_each_tool(make_session):
    bench = make_session()
    bench.put("package.json", "{}")
    write = {"content": '{"name": "a"}'}
    assert bench.effects("read_file", path="a.py") == [("read", "a.py")]
    assert bench.effects("grep", pattern="x") == [("read", "work")]
    assert bench.effects("write_file", path="a.py", content="") == [("write", "a.py")]
    assert bench.effects("write_file", path=HOOK, content="") == [("configure", "pre-commit")]
    assert bench.effects("write_file", path="Makefile", content="x") == [
        ("write", "Makefile"), ("execute", "Makefile")
    ]  # fmt: skip
    assert bench.effects("write_file", path="package.json", **write) == [("write", "package.json")]
    scripts = {"content": '{"scripts": {"test": "x"}}'}
    assert ("execute", "package.json") in bench.effects(
        "write_file", path="package.json", **scripts
    )
    assert bench.effects("write_file", path="../x", content="") == []


def test_workspace_in_the_home_folder_cannot_reach_hooklines_home(harness, tmp_path):
    bench = ApprovalBench(harness, tmp_path)
    home = bench.h.home.relative_to(tmp_path)
    bench.h.home.mkdir()
    (bench.h.home / "SOUL.md").write_text("me")
    for path in (f"{home}/SOUL.md", f"{home}/hookline.db", f"{home}/skills/x/SKILL.md"):
        for call in ({"name": "read_file"}, {"name": "write_file", "content": "owned"}):
            assert bench(path=path, **call).startswith("Denied: "), path
    assert bench("list_dir", path=str(home)).startswith("Denied: ")
    assert bench("glob", pattern=f"{home}/*").startswith(("Denied: ", "No file"))
    assert "SOUL" not in bench("grep", pattern="me", glob="*.md")
    assert (bench.h.home / "SOUL.md").read_text() == "me"


def test_file_of_the_message_can_be_read_and_not_written(make_session):
    bench = make_session()
    media = bench.h.home / "media/telegram"
    media.mkdir(parents=True)
    for name in ("0123456789abcdef-a.txt", "fedcba9876543210-b.txt"):
        (media / name).write_text("content of " + name)
    mine, other = sorted(media.iterdir())
    came = Attachment(mine, "text/plain", "a.txt", 9, origins=())
    bench.h.model.steps += [
        [calls("read_file", path=str(mine)), calls("read_file", path=str(other))],
        calls("write_file", path=str(mine), content="x"),
        "done",
    ]
    texts = [r.text for r in bench.h.send("look", attachments=[came]).tool_calls]
    assert "content of 0123" in texts[0]
    assert texts[1].startswith("Denied: ")
    assert texts[2].startswith("Denied: ")


@pytest.mark.parametrize("moment", [1, 2, 3])
def test_folder_swapped_for_a_link_leads_nowhere(bench, tmp_path, moment):
    """The folder of a file is swapped for a link at any moment after the path was resolved."""
    (tmp_path / "outside").mkdir()
    bench.put("dir/a.txt", "a")
    resolve, seen = bench.paths.resolve, []

    def swapping(path, **options):
        real = resolve(path, **options)
        seen.append(path)
        if len(seen) == moment:
            (bench.root / "dir").rename(bench.root / "gone")
            (bench.root / "dir").symlink_to(tmp_path / "outside")
        return real

    bench.paths.resolve = swapping
    with contextlib.suppress(ToolError, Refused):
        bench("write_file", path="dir/new.txt", content="x")
    assert list((tmp_path / "outside").iterdir()) == []
