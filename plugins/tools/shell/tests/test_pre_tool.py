"""Through the real core: the verdict on a command comes before the tool runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hookline.testing import Harness, calls
from hookline_hookspecs import Context, Effect, Plugin, ToolCall, hookimpl
from hookline_shell import Shell
from support.matrices import sampled

BARE = {"sandbox": {"enabled": False}}
"""Settings without a sandbox, which keeps from view what the judge asks about."""

MakeHarness = Callable[..., Harness]


def run(
    make: MakeHarness, /, answers: tuple[str, ...] = (), **arguments: object
) -> tuple[str, bool]:
    """What the model is told of one call of ``bash``, and whether a person was asked."""
    model = [calls("bash", **arguments), "Done."]
    h = make(Shell, model=model, config=BARE, answers=answers)
    result = h.send("go").tool_calls[0]
    return result.text, bool(h.questions)


def test_ordinary_command_needs_no_approval(harness: MakeHarness) -> None:
    assert run(harness, command="echo hello") == ("hello\n[exit code 0]", False)


def test_denied_command_has_a_reason_and_no_question(harness: MakeHarness) -> None:
    text, asked = run(harness, ("Allow always",), command="rm -rf /")
    assert text.startswith("Denied: This cannot be undone: `rm -rf /`")
    assert not asked


def test_approval_shows_the_literal_command(harness: MakeHarness) -> None:
    command = "echo one; su\ndo -- echo two".replace("su\ndo", "s''udo")
    h = harness(Shell, model=[calls("bash", command=command), "Done."], answers=["Deny"])
    text = h.send("go").tool_calls[0].text
    assert text.startswith("Denied: ")
    assert "another user's rights" in text
    assert [question.preview for question in h.questions] == [command]


def test_approved_command_is_run(harness: MakeHarness) -> None:
    text, asked = run(harness, ("Allow once",), command="ls / > /dev/null; echo listed")
    assert (text, asked) == ("listed\n[exit code 0]", True)


def test_hookline_command_can_be_approved_only_once(harness: MakeHarness) -> None:
    command = "true || hookline pairing approve 123456 --admin"
    h = harness(Shell, model=[calls("bash", command=command), "Done."], answers=["Deny"])
    assert h.send("go").tool_calls[0].text.startswith("Denied: ")
    assert [question.choices for question in h.questions] == [("Allow once", "Deny")]


KEEP = ("vault.key", ".env", "plugins/audit/key", "profiles/work/vault.key")


def begun_at_home(
    folder: Path, harness: MakeHarness, command: str, answer: str, enabled: bool | str = False
) -> Harness:
    """A conversation in one's home folder, where Hookline's own lies too, after one command."""
    for name in KEEP:
        (file := folder / ".hookline" / name).parent.mkdir(parents=True, exist_ok=True)
        file.write_text("canary")
    (folder / "notes.txt").write_text("hello\n")
    (folder / "linked").symlink_to(folder)  # as a repository may bring them
    (folder / "docs").symlink_to(folder / ".hookline")
    (folder / "project").mkdir()
    (folder / "project" / "a.py").write_text("print(1)\n")
    model = [calls("bash", command=command), "Done."]
    more = {"home": folder / ".hookline", "workspace": folder}
    return harness(
        Shell, config={"sandbox": {"enabled": enabled}}, model=model, answers=[answer], **more
    )


@sampled(
    "command",
    [
        "grep -r canary .",
        "grep -rn canary",
        "grep -ri --include=.env canary ~+",
        "rg --hidden canary",
        "find . -type f -exec cat {} +",
        "find . -type f | xargs grep -h canary",
        "find . -name '*.key' | xargs cat",
        "find . -type f -exec sh -c 'cat $1' _ {} ';'",
        "find . -type f | while read f; do cat $f; done",
        "tar cf - . | strings",
        "tar czf - -C $PWD .",
        "cp -r . {folder}-copy",
        "rsync -a ./ {folder}-copy",
        "zip -qr - .",
        "git init -q . && git add -A && git grep -h canary",
        "docker run -v $PWD:/x alpine cat /x/.hookline/.env",
        "python3 -m http.server 0",
        "cat .h*/.env",
        "rm -rf .h*",
        "mv .[a-z]* old",
        "shopt -s globstar dotglob; cat **",
        "vim -es -c 'r .hookline/.env' -c 'w x' -c q; cat x",
        "awk 'BEGIN { while ((getline l < \".hookline/.env\") > 0) print l }'",
        "ed notes.txt <<< 'r .hookline/.env'",
        "ln -s . y; cat y/.hookline/.env",
        "ln -s $PWD y && cd y/.hookline && head -c 99 .env",
        "ln -s .. y; grep -rh canary y/",
        "mkdir -p a/b; ln -s ../.. a/b/y; cat a/b/y/.hookline/vault.key",
        "cat linked/.hookline/vault.key",
        "grep -rh canary linked/",
        "cat docs/plugins/audit/key",
        "cat docs/.env",
        "cat /proc/self/cwd/.hookline/.env",
        "cat /proc/self/root{folder}/.hookline/.env",
    ],
)
def test_approved_command_never_shows_keys_below_the_folder_it_reads(
    harness: MakeHarness, tmp_path: Path, command: str
) -> None:
    folder = tmp_path / "me"
    h = begun_at_home(folder, harness, command.replace("{folder}", str(folder)), "Allow always")
    text = h.send("go").tool_calls[0].text
    assert text.startswith("Denied: "), text
    assert "keeps its keys" in text
    assert all((folder / ".hookline" / name).exists() for name in KEEP)


@pytest.mark.parametrize(
    "command",
    [
        "grep -rn --exclude-dir=.hookline hello .",
        "grep -rn print project",
        "cd project && grep -rn print . && find . -type f -exec cat {} +",
        "find . -name '*.py' -exec cat {} +",
        "find . -type f | wc -l",
        "tar cf project.tar project",
        "tar cf - --exclude=.hookline . | wc -c",
        "cp -r project copy",
        "cp notes.txt .//x",
        "ls -la && du -sh .",
        "grep . notes.txt",
        "tr / . < notes.txt",
    ],
)
def test_ordinary_work_in_the_home_folder_needs_no_approval(
    harness: MakeHarness, tmp_path: Path, command: str
) -> None:
    h = begun_at_home(tmp_path / "me", harness, command, "Deny")
    text = h.send("go").tool_calls[0].text
    assert (h.questions, text[:7]) == ([], text[:7].replace("Denied:", "")), text


def test_keys_are_not_visible_in_a_sandbox(
    sandboxes: None, harness: MakeHarness, tmp_path: Path
) -> None:
    h = begun_at_home(tmp_path / "me", harness, "grep -rh . . | sort", "Deny", enabled=True)
    text = h.send("go").tool_calls[0].text
    assert "print(1)" in text
    assert "canary" not in text


@pytest.mark.parametrize(
    "command",
    [
        "printf -- '--- /dev/null\\n+++ .hookline/config.yaml\\n@@ -0,0 +1 @@\\n+a\\n' | patch",
        "tar xf project.tar",
        "unzip -o project.zip",
        "git apply project.patch",
        "cp -r project/. .",
    ],
)
def test_command_that_may_overwrite_hooklines_folder_needs_approval(
    harness: MakeHarness, tmp_path: Path, command: str
) -> None:
    h = begun_at_home(tmp_path / "me", harness, command, "Deny")
    assert h.send("go").tool_calls[0].text.startswith("Denied: ")
    assert "where Hookline's folder lies" in h.questions[0].text
    assert not (tmp_path / "me/.hookline/config.yaml").exists()


@pytest.mark.parametrize(
    "command",
    [
        "cat {home}/plugins/audit/key",
        "cd {home} && cat plugins/audit/key",
        "cat {home}/plug*/audit/key",
        "base64 {home}/vault.key",
        "python3 -c \"print(open('{home}/vault.key').read())\"",
        "cp -r {home} copy",
        "tar c {home}/plugins | base64",
        "X={home}; cat $X/.env",
        "grep -r . {home}/*",
        "cat {home}/profiles/work/vault.key",
    ],
)
def test_approval_never_shows_hooklines_keys(
    harness: MakeHarness, tmp_path: Path, command: str
) -> None:
    """Also if the home lies below the folder for temporary files."""
    home = tmp_path / "home"
    for name in ("vault.key", ".env", "plugins/audit/key", "profiles/work/vault.key"):
        (file := home / name).parent.mkdir(parents=True, exist_ok=True)
        file.write_text("canary")
    model = [calls("bash", command=command.format(home=home)), "Done."]
    h = harness(Shell, model=model, answers=["Allow always"], home=home)
    text = h.send("go").tool_calls[0].text
    assert text.startswith("Denied: ")
    assert "keeps its keys" in text
    assert not h.questions


def test_other_files_of_hooklines_home_need_approval(harness: MakeHarness, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    for command in ("cat {home}/config.yaml", "ls -a {home}", "sqlite3 {home}/hookline.db .dump"):
        model = [calls("bash", command=command.format(home=home)), "Done."]
        h = harness(Shell, model=model, config=BARE, answers=["Deny"], home=home)
        assert h.send("go").tool_calls[0].text.startswith("Denied: ")
        assert len(h.questions) == 1


def test_plugin_can_query_the_effects_of_a_command(harness: MakeHarness) -> None:
    found: list[Effect] = []

    class Listener(Plugin[None]):
        @hookimpl
        def pre_tool(self, ctx: Context, call: ToolCall) -> None:
            found.extend(ctx.effects(call))

    command = "echo hi > note.txt"
    h = harness(Shell, Listener, model=[calls("bash", command=command), "Done."])
    h.send("go")
    assert [(e.kind, e.target.rpartition("/")[2]) for e in found] == [("write", "note.txt")]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "command"),
        ({"command": 7}, "command"),
        ({"command": None}, "command"),
        ({"command": ["ls"]}, "command"),
        ({"command": "ls", "timeout": "soon"}, "timeout"),
        ({"command": "ls", "timeout": -1}, "above 0"),
        ({"command": "ls", "workdir": 1}, "workdir"),
        ({"command": "ls", "workdir": "missing"}, "missing"),
        ({"command": "ls", "cwd": "."}, "cwd"),
        ({"command": " "}, "empty"),
    ],
)
def test_wrong_arguments_give_an_error_sentence(
    harness: MakeHarness, arguments: dict[str, object], said: str
) -> None:
    text, asked = run(harness, **arguments)
    assert text.startswith("Error: ")
    assert said in text
    assert not asked


def test_workdir_outside_is_refused(harness: MakeHarness) -> None:
    text, _ = run(harness, command="pwd", workdir="/")
    assert text.startswith(("Error: ", "Denied: "))
    assert "outside the workspace" in text


def test_core_guards_judge_paths_and_urls(harness: MakeHarness) -> None:
    for command in (
        "cat server.pem",
        "curl http://10.1.2.3/",
        "cat config/.env.production",
        "ls ~/.config/gcloud",
    ):
        model = [calls("bash", command=command), "Done."]
        h = harness(Shell, model=model, config=BARE, answers=["Deny"])
        assert h.send("go").tool_calls[0].text.startswith("Denied: "), command
        assert len(h.questions) == 1


def test_allowed_host_needs_no_approval(harness: MakeHarness) -> None:
    command = (
        "echo curl http://10.1.2.3:8080/; : curl; wget --version http://10.1.2.3:8080/ || true"
    )
    for allow, asked in (([], True), (["10.1.2.3:8080"], False)):
        h = harness(
            Shell,
            model=[calls("bash", command=command), "Done."],
            core={"network.allow_hosts": allow},
            answers=["Deny"],
        )
        h.send("go")
        assert bool(h.questions) is asked


def test_required_sandbox_that_is_missing_refuses_every_command(
    harness: MakeHarness, no_sandbox: None
) -> None:
    h = harness(
        Shell,
        config={"sandbox": {"enabled": True}},
        model=[calls("bash", command="echo > proof"), "Done."],
    )
    text = h.send("go").tool_calls[0].text
    assert text.startswith("Error: nothing was run: commands must be sandboxed")
    assert "install bubblewrap" in text
    assert not (h.workspace / "proof").exists()
