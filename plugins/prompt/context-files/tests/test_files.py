"""Which files are found, and where they stand in the prompt."""

from __future__ import annotations

import os
import re
import time
from urllib.parse import quote

import pytest
from hookline.testing import calls

from .conftest import Bench

OWN_IDENTITY = "You are Hookline"


def test_no_files_add_nothing_to_the_prompt(bench):
    system = bench.system()
    assert system.startswith(OWN_IDENTITY)
    assert "# Context files" not in system


def test_soul_is_the_identity(bench):
    bench.keep("SOUL.md", "I am Ada.\n")
    system = bench.system()
    assert system.startswith("I am Ada.\n\n")
    assert OWN_IDENTITY not in system


@pytest.mark.parametrize("content", ["", "  \n", b"\xef\xbb\xbf", b"\0\1"])
def test_empty_soul_is_ignored(bench, content):
    bench.keep("SOUL.md", content)
    assert bench.system().startswith(OWN_IDENTITY)


ORDER = [".hermes.md", "HERMES.md", "AGENTS.md", "CLAUDE.md", ".cursorrules"]


@pytest.mark.parametrize("first", range(len(ORDER)))
def test_first_project_file_wins(bench, first):
    for name in ORDER[first:]:
        bench.put(name, f"<{name}>")
    assert bench.context().endswith(f"## {ORDER[first]}\n<{ORDER[first]}>")


def test_cursor_rules_are_joined_in_sorted_order(bench):
    bench.put(".cursorrules", "SINGLE")
    for name in ("b.mdc", "a.mdc", "c.txt"):
        bench.put(f".cursor/rules/{name}", f"rule {name}")
    found = bench.context()
    assert found.endswith(
        "## .cursorrules\nSINGLE\n\n"
        "## .cursor/rules/a.mdc\nrule a.mdc\n\n## .cursor/rules/b.mdc\nrule b.mdc"
    )


@pytest.mark.parametrize("content", ["", "\n\n", b"\xff\xfe", b"\0"])
def test_empty_project_file_is_skipped(bench, content):
    bench.put("AGENTS.md", content)
    bench.put("CLAUDE.md", "NEXT")
    assert "NEXT" in bench.context()


def test_hermes_file_is_searched_up_to_the_git_root(bench):
    bench.put("HERMES.md", "TOO FAR")
    bench.put("repo/.git/HEAD", "")
    bench.put("repo/HERMES.md", "ROOT")
    bench.put("repo/AGENTS.md", "NOT ASKED FOR")
    inner = bench.put("repo/a/b/AGENTS.md", "LATER").parent
    bench.open(inner)
    assert bench.context().endswith("## ../../HERMES.md\nROOT")
    bench.put("repo/a/.hermes.md", "NEARER")
    assert bench.context().endswith("## ../.hermes.md\nNEARER")


def test_agents_files_are_read_from_the_git_root_to_the_workspace(bench):
    bench.put("AGENTS.md", "TOO FAR")
    bench.put("repo/.git/HEAD", "")
    bench.put("repo/AGENTS.md", "ROOT")
    bench.open(bench.put("repo/a/b/AGENTS.md", "HERE").parent)
    assert bench.context().endswith("## ../../AGENTS.md\nROOT\n\n## AGENTS.md\nHERE")
    (bench.workspace / "repo/a/b/AGENTS.md").unlink()
    assert bench.context().endswith("## ../../AGENTS.md\nROOT")


def test_agents_file_of_the_home_is_read_in_every_project(bench):
    bench.keep("AGENTS.md", "MINE")
    bench.put("AGENTS.md", "PROJECT")
    assert bench.context().endswith("## AGENTS.md\nPROJECT\n\n## AGENTS.md (yours)\nMINE")


def test_import_after_a_chinese_letter_is_read(bench):
    bench.put("AGENTS.md", "编码规则请参考@docs/style.md。")
    bench.put("docs/style.md", "STYLE")
    assert "STYLE" in bench.context()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('See @"with space.md".', "with space.md"),
        ("See @'with space.md'.", "with space.md"),
        ("See @“with space.md”.", "with space.md"),
        ("See @<with space.md>.", "with space.md"),
        ("See @with\\ space.md.", "with space.md"),
        ('- @"./docs/my rules.md"', "docs/my rules.md"),
        ("(@docs/c++.md)", "docs/c++.md"),
        ("@docs/a&b.md;", "docs/a&b.md"),
        ("@docs/[id]/rules.md", "docs/[id]/rules.md"),
        ("**@docs/a.md**", "docs/a.md"),
        ("看@docs/规则.md的内容", "docs/规则.md"),
        ("@docs/a.mdを読む", "docs/a.md"),
        ("see @docs/a.md—first", "docs/a.md"),
    ],
)
def test_import_is_read_however_its_path_is_written(bench, text, name):
    bench.put("AGENTS.md", text)
    bench.put(name, "IMPORTED")
    assert bench.context().endswith(f"## {name} (imported by AGENTS.md)\nIMPORTED")
    assert bench.complaints() == []


def test_missing_import_with_a_space_is_told_to_the_person(bench):
    bench.put("AGENTS.md", 'See @"no such.md" and @"Ada Lovelace".')
    bench.context()
    assert bench.complaints() == ["AGENTS.md imports @no such.md, but there is no such file."]


def test_imports_are_read_once_each_despite_a_cycle(bench):
    bench.put(".git/HEAD", "")
    bench.put(
        "AGENTS.md", "See @docs/style.md and @./more.md.\n`@docs/code.md`\n```\n@docs/code.md\n```"
    )
    bench.put("docs/style.md", "STYLE, see @../AGENTS.md and @deep.md, mail me@docs.md")
    bench.put("docs/deep.md", "DEEP 参考@style.md。")
    bench.put("docs/code.md", "EXAMPLE")
    bench.put("more.md", "MORE")
    found = bench.context()
    assert re.findall(r"^## (.*)$", found, re.M) == [
        "AGENTS.md",
        "docs/style.md (imported by AGENTS.md)",
        "docs/deep.md (imported by docs/style.md (imported by AGENTS.md))",
        "more.md (imported by AGENTS.md)",
    ]
    assert "EXAMPLE" not in found
    assert bench.complaints() == []


def test_import_of_a_parent_folder_within_the_git_tree_is_read(bench):
    bench.put("repo/.git/HEAD", "")
    bench.put("repo/shared.md", "SHARED")
    bench.open(bench.put("repo/app/AGENTS.md", "@../shared.md").parent)
    assert "SHARED" in bench.context()


def test_imports_that_are_not_followed_are_told_to_the_person(bench):
    bench.put(".git/HEAD", "")
    (bench.home / "secret.md").write_text("SECRET")
    bench.workspace.parent.joinpath("outside.md").write_text("OUTSIDE")
    bench.put("AGENTS.md", f"@../outside.md @{bench.home}/secret.md @gone.md @alice @.env")
    bench.put(".env", "KEY=hunter2")
    found = bench.context()
    assert "OUTSIDE" not in found
    assert "SECRET" not in found
    assert "hunter2" not in found
    assert bench.complaints() == [
        "AGENTS.md imports @../outside.md, but it is outside work/.",
        f"AGENTS.md imports @{bench.home}/secret.md, but it is outside work/.",
        "AGENTS.md imports @gone.md, but there is no such file.",
    ]


def test_imports_end_at_five_levels(bench):
    bench.put("AGENTS.md", "@1.md")
    for level in range(1, 8):
        bench.put(f"{level}.md", f"LEVEL{level} @{level + 1}.md")
    found = bench.context()
    assert "LEVEL4" in found
    assert "LEVEL5" not in found
    assert "more than 5 levels deep" in bench.complaints()[0]


def test_link_to_a_file_outside_is_not_imported(bench):
    bench.workspace.parent.joinpath("outside.md").write_text("OUTSIDE")
    (bench.workspace / "link.md").symlink_to("../outside.md")
    bench.put("AGENTS.md", "@link.md")
    assert "OUTSIDE" not in bench.context()
    assert "outside work/" in bench.complaints()[0]


def test_parent_folders_are_not_read_outside_a_git_tree(bench):
    bench.put("HERMES.md", "ABOVE")
    bench.open(bench.put("sub/AGENTS.md", "HERE").parent)
    found = bench.context()
    assert "HERE" in found
    assert "ABOVE" not in found


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root")
def test_git_tree_of_another_user_is_not_climbed(bench):
    bench.put(".git/HEAD", "")
    bench.put("HERMES.md", "PLANTED")
    bench.open(bench.put("sub/AGENTS.md", "HERE").parent)
    assert "PLANTED" in bench.context()
    os.chown(bench.workspace, 12_345, 12_345)
    found = bench.context()
    assert "HERE" in found
    assert "PLANTED" not in found


def test_context_files_are_global_then_of_the_chat_each_sorted(bench):
    bench.put("AGENTS.md", "PROJECT")
    for name in ("context/b.md", "context/a.MD", "context/c.txt", "context/.hidden.md"):
        bench.keep(name, name)
    bench.keep("context/folder.md/x", "")
    bench.keep("chats/terminal/default/context/z.md", "MINE")
    bench.keep("chats/fake/default/context/z.md", "OTHERS")
    assert bench.context().endswith(
        "## AGENTS.md\nPROJECT\n\n## context/a.MD\ncontext/a.MD\n\n"
        "## context/b.md\ncontext/b.md\n\n## chat/z.md\nMINE"
    )


@pytest.mark.parametrize("chat", ["42", "a/b", "../x", "ä #%", "-100:7"])
def test_chat_has_its_own_files(bench, chat):
    bench.keep(f"chats/fake/{quote(chat, safe='')}/context/a.md", "THIS CHAT")
    bench.keep("chats/fake/else/context/a.md", "ANOTHER")
    assert "THIS CHAT" in said(bench, chat)
    assert "ANOTHER" not in said(bench, chat)


def said(bench, chat: str) -> str:
    """The system prompt of a chat on a network channel."""
    bench.harness.model.steps.append("ok")

    async def say() -> None:
        await bench.harness.aopen()
        before = len(bench.harness.channel.sent)
        await bench.harness.channel.say("hello", chat=chat)
        await bench.harness.channel.replies(before + 1)

    bench.harness.run(say())
    return bench.harness.model.last.system


def test_chat_named_like_a_parent_folder_reads_no_other_files(bench):
    bench.keep("chats/fake/context/a.md", "OF NOBODY")
    bench.keep("chats/context/a.md", "OF NOBODY")
    for chat in (".", "..", "%2E%2E"):
        assert "OF NOBODY" not in said(bench, chat)


def test_sub_agent_gets_neither_soul_nor_files(bench):
    bench.keep("SOUL.md", "I am Ada.")
    bench.put("AGENTS.md", "PROJECT")
    bench.harness.model.steps += [calls("helper"), "helped", "done"]
    bench.harness.send("go")
    parent, child, _ = [request.system for request in bench.harness.model.requests]
    assert "PROJECT" in parent
    assert child.startswith(OWN_IDENTITY)
    assert "# Context files" not in child


def test_change_is_seen_by_the_next_session_only(bench):
    bench.put("AGENTS.md", "OLD")
    bench.harness.model.steps += ["ok", "ok"]
    bench.harness.send("hi")
    bench.put("AGENTS.md", "NEW")
    bench.harness.send("hi")
    first, second = [request.system for request in bench.harness.model.requests]
    assert first == second
    assert "NEW" in bench.context()


def test_same_files_give_the_same_bytes(bench):
    bench.keep("SOUL.md", "I am Ada.")
    for number in range(60):
        bench.keep(f"context/{number * 7 % 60:02}.md", "x" * number * 20)
    bench.put(".cursor/rules/a.mdc", "POISON")
    first = bench.system()
    for file in sorted(bench.home.joinpath("context").iterdir(), reverse=True):
        file.touch()
    bench.open(bench.workspace)
    assert bench.system() == first


# Hostile


def test_links_out_of_the_workspace_are_not_followed(bench, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.md").write_text("LEAK")
    (outside / "a.mdc").write_text("LEAK")
    for link in (
        bench.home / "SOUL.md",
        bench.workspace / "AGENTS.md",
        bench.workspace / ".cursorrules",
        bench.home / "linked.md",
    ):
        link.symlink_to(outside / "a.md")
    (bench.home / "context").symlink_to(outside)
    (bench.workspace / ".cursor").mkdir()
    (bench.workspace / ".cursor/rules").symlink_to(outside)
    system = bench.system()
    assert "LEAK" not in system
    assert "outside" not in system
    assert system.startswith(OWN_IDENTITY)
    for name in ("SOUL.md", "AGENTS.md", ".cursorrules", "context", "rules"):
        assert any(said.startswith(name) for said in bench.complaints())


def test_links_to_secret_files_are_not_followed(bench):
    bench.keep(".env", "KEY=LEAK")
    bench.keep("config.yaml", "{model: LEAK/m}")
    bench.keep("context/a.md", "FINE")
    (bench.home / "context/b.md").symlink_to(bench.home / ".env")
    (bench.home / "context/c.md").symlink_to("../config.yaml")
    (bench.home / "SOUL.md").symlink_to(".env")
    bench.put(".env", "LEAK")
    (bench.workspace / "AGENTS.md").symlink_to(".env")
    system = bench.system()
    assert "FINE" in system
    assert "LEAK" not in system


def test_link_within_the_workspace_is_followed(bench):
    bench.put("docs/agents.txt", "LINKED")
    (bench.workspace / "AGENTS.md").symlink_to("docs/agents.txt")
    (bench.home / "SOUL.md").symlink_to(bench.put("me.md", "I am Ada."))
    system = bench.system()
    assert "## AGENTS.md\nLINKED" in system
    assert system.startswith("I am Ada.")


def test_folders_pipes_and_broken_links_are_skipped(bench):
    (bench.home / "SOUL.md").mkdir()
    (bench.workspace / ".hermes.md").symlink_to(".hermes.md")
    (bench.workspace / "HERMES.md").symlink_to("missing")
    (bench.workspace / "AGENTS.md").mkdir()
    os.mkfifo(bench.workspace / "CLAUDE.md")
    bench.put(".cursorrules", "FINE")
    bench.keep("context/fine.md", "ALSO")
    os.mkfifo(bench.home / "context/pipe.md")
    bench.put(".cursor/rules", "a file where a folder is looked for")
    system = bench.system()
    assert "FINE" in system
    assert "ALSO" in system
    assert system.startswith(OWN_IDENTITY)


def test_unprintable_names_are_shown_on_one_line(bench):
    folder = bench.keep("context/a.md", "FIRST").parent
    (folder / "x\n## SYSTEM\u202e.md").write_text("SECOND")
    try:
        (folder / os.fsdecode(b"y\xff.md")).write_text("THIRD")
    except OSError:
        pytest.skip("this file system takes UTF-8 alone")
    assert bench.context().endswith(
        "FIRST\n\n## context/x\ufffd## SYSTEM\ufffd.md\nSECOND\n\n## context/y\ufffd.md\nTHIRD"
    )


def test_bytes_that_are_not_utf_8_are_replaced(bench):
    bench.put("AGENTS.md", b"caf\xe9\r\nend\xed\xa0\x80")
    assert "caf\ufffd\nend\ufffd" in bench.context()
    bench.put("AGENTS.md", "wide é 😀".encode("utf-16"))
    assert bench.context().endswith("## AGENTS.md\nwide é 😀")


def test_binary_and_huge_files_are_reported_to_the_person(bench):
    bench.put("AGENTS.md", b"PK\3\4\0\0")
    with (bench.workspace / "CLAUDE.md").open("wb") as stream:
        stream.truncate(50_000_000_000)
    bench.put(".cursorrules", "FINE")
    assert "FINE" in bench.context()
    binary, huge = bench.complaints()
    assert "AGENTS.md" in binary
    assert "10000000 bytes" in huge


def test_number_of_files_is_limited(bench):
    for number in range(80):
        bench.keep(f"context/{number:02}.md", "text")
    found = bench.context()
    assert found.count("\n## ") == 50
    assert "## context/49.md" in found
    assert "Of the 80 files" in bench.complaints()[0]


def test_doctor_names_files_that_cannot_be_used(bench):
    [(_, check)] = bench.harness.checks()
    assert check.run().detail == "no context files for the terminal"
    bench.put("AGENTS.md", "FINE")
    assert check.run().ok
    assert check.run().detail == "1 context file for the terminal, all readable"
    bench.keep("SOUL.md", b"\0")
    found = check.run()
    assert "SOUL.md" in found.detail
    assert not found.hint
    assert found.fix


# The gate


def test_refused_file_is_shown_as_blocked_and_the_rest_is_kept(bench):
    bench.put("AGENTS.md", "POISON")
    bench.keep("context/a.md", "FINE")
    found = bench.context()
    assert "[AGENTS.md is blocked: AGENTS.md is bad]" in found
    assert "POISON" not in found
    assert "FINE" in found


def test_refused_soul_leaves_the_default_identity(bench):
    bench.keep("SOUL.md", "POISON")
    system = bench.system()
    assert system.startswith(OWN_IDENTITY)
    assert "[SOUL.md is blocked: SOUL.md is bad]" in system
    assert "POISON" not in system


def test_files_pass_pre_read_as_they_are_shown(bench):
    bench.keep("SOUL.md", "me")
    bench.put("AGENTS.md", "a" * 20_000)
    bench.keep("context/a.md", "b")
    found = bench.context()
    passed = {call.event.source: call.event for call in bench.harness.hooks["pre_read"]}
    assert set(passed) == {"SOUL.md", "AGENTS.md", "context/a.md"}
    assert passed["AGENTS.md"].text in found
    assert {excerpt.kind for excerpt in passed.values()} == {"context"}


def test_text_added_by_pre_read_is_cut(make_bench):
    bench = make_bench(context_max_chars=600)
    bench.put("AGENTS.md", "SHORT")
    text = bench.context().partition("## AGENTS.md\n")[2]
    assert text.startswith("[REDACTED]" * 42 + "\n[…")
    assert len(text) <= 600


def test_text_lengthened_by_pre_read_keeps_the_rest(bench):
    bench.put("AGENTS.md", "one SHORT two")
    assert bench.context().endswith(f"one {'[REDACTED]' * 100} two")


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every file be old enough to be relied upon."""
    now = time.time_ns
    monkeypatch.setattr("hookline_hookspecs.caching.files.time.time_ns", lambda: now() + 10**10)


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("name", ["AGENTS.md", ".hermes.md", "CLAUDE.md", ".cursor/rules/a.mdc"])
def test_new_session_has_the_current_project_files(bench: Bench, name: str) -> None:
    assert bench.context() == ""
    file = bench.put(name, "first")
    assert "first" in bench.context()
    file.write_text("other")
    assert "other" in bench.context()
    file.unlink()
    assert bench.context() == ""


@pytest.mark.usefixtures("settled")
def test_new_session_has_the_current_personal_files(bench: Bench) -> None:
    bench.system()
    soul = bench.keep("SOUL.md", "I am a parrot.")
    assert "parrot" in bench.system()
    soul.write_text("I am a falcon.")
    assert "falcon" in bench.system()
    bench.keep("context/b.md", "kept")
    bench.keep("chats/terminal/default/context/c.md", "mine")
    assert "kept" in bench.context()
    assert "mine" in bench.context()


@pytest.mark.usefixtures("settled")
def test_new_git_root_is_noticed(bench: Bench) -> None:
    (bench.workspace.parent / ".hermes.md").write_text("from above")
    assert bench.context() == ""
    (bench.workspace.parent / ".git").mkdir()
    assert "from above" in bench.context()


@pytest.mark.usefixtures("settled")
def test_unchanged_files_are_not_opened_but_pass_pre_read(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.put("AGENTS.md", "use tabs, POISON")
    assert "blocked" in bench.context()
    opened = bench.workspace / "AGENTS.md"
    opened.chmod(0o600)
    bench.system()

    def fails(*_: object) -> None:
        raise AssertionError("a file was read again")

    monkeypatch.setattr("hookline_context_files.file_reader.decode_text", fails)
    assert "blocked" in bench.context()
