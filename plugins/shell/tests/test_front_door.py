"""Through the real core: the model calls the tool, the judge answers first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hookline.testing import Harness, calls
from hookline_hookspecs import Context, Effect, Plugin, ToolCall, hookimpl
from hookline_shell import Shell

MakeHarness = Callable[..., Harness]


def run(
    make: MakeHarness, /, answers: tuple[str, ...] = (), **arguments: object
) -> tuple[str, bool]:
    """What the model is told of one call of ``bash``, and whether a person was asked."""
    h = make(Shell, model=[calls("bash", **arguments), "Done."], answers=answers)
    result = h.send("go").tool_calls[0]
    return result.text, bool(h.questions)


def test_an_ordinary_command_runs_unasked(harness: MakeHarness) -> None:
    assert run(harness, command="echo hello") == ("hello\n[exit code 0]", False)


def test_a_denied_command_says_why_and_asks_nobody(harness: MakeHarness) -> None:
    text, asked = run(harness, ("Always",), command="rm -rf /")
    assert text.startswith("Denied: This cannot be undone: `rm -rf /`")
    assert not asked


def test_a_person_sees_the_literal_command(harness: MakeHarness) -> None:
    command = "echo one; su\ndo -- echo two".replace("su\ndo", "s''udo")
    h = harness(Shell, model=[calls("bash", command=command), "Done."], answers=["Deny"])
    text = h.send("go").tool_calls[0].text
    assert text.startswith("Denied: ")
    assert "another user's rights" in text
    assert [question.preview for question in h.questions] == [command]


def test_what_a_person_grants_is_run(harness: MakeHarness) -> None:
    text, asked = run(harness, ("Once",), command="ls / > /dev/null; echo listed")
    assert (text, asked) == ("listed\n[exit code 0]", True)


def test_a_call_of_the_program_itself_can_be_granted_for_now_alone(harness: MakeHarness) -> None:
    command = "true || hookline pairing approve 123456 --admin"
    h = harness(Shell, model=[calls("bash", command=command), "Done."], answers=["Deny"])
    assert h.send("go").tool_calls[0].text.startswith("Denied: ")
    assert [question.choices for question in h.questions] == [("Once", "Deny")]


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
def test_no_grant_shows_hookline_s_keys(harness: MakeHarness, tmp_path: Path, command: str) -> None:
    """Wherever its home is: here it lies below the folder for temporary files."""
    home = tmp_path / "home"
    for name in ("vault.key", ".env", "plugins/audit/key", "profiles/work/vault.key"):
        (file := home / name).parent.mkdir(parents=True, exist_ok=True)
        file.write_text("canary")
    model = [calls("bash", command=command.format(home=home)), "Done."]
    h = harness(Shell, model=model, answers=["Always"], home=home)
    text = h.send("go").tool_calls[0].text
    assert text.startswith("Denied: ")
    assert "keeps its keys" in text
    assert not h.questions


def test_what_else_is_hookline_s_own_is_asked_about(harness: MakeHarness, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    for command in ("cat {home}/config.yaml", "ls -a {home}", "sqlite3 {home}/hookline.db .dump"):
        model = [calls("bash", command=command.format(home=home)), "Done."]
        h = harness(Shell, model=model, answers=["Deny"], home=home)
        assert h.send("go").tool_calls[0].text.startswith("Denied: ")
        assert len(h.questions) == 1


def test_a_plugin_can_ask_what_a_command_would_do(harness: MakeHarness) -> None:
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
def test_wrong_arguments_get_a_message_to_act_on(
    harness: MakeHarness, arguments: dict[str, object], said: str
) -> None:
    text, asked = run(harness, **arguments)
    assert text.startswith("Error: ")
    assert said in text
    assert not asked


def test_a_workdir_outside_is_refused(harness: MakeHarness) -> None:
    text, _ = run(harness, command="pwd", workdir="/")
    assert text.startswith(("Error: ", "Denied: "))
    assert "outside the workspace" in text


def test_the_guards_of_core_are_asked(harness: MakeHarness) -> None:
    for command in (
        "cat server.pem",
        "curl http://10.1.2.3/",
        "cat config/.env.production",
        "ls ~/.config/gcloud",
    ):
        h = harness(Shell, model=[calls("bash", command=command), "Done."], answers=["Deny"])
        assert h.send("go").tool_calls[0].text.startswith("Denied: "), command
        assert len(h.questions) == 1


def test_an_allowed_host_is_not_asked_about(harness: MakeHarness) -> None:
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


def test_where_a_sandbox_is_demanded_nothing_is_run_without_one(
    harness: MakeHarness, nothing: None
) -> None:
    h = harness(
        Shell,
        config={"sandbox": {"enabled": True}},
        model=[calls("bash", command="echo > proof"), "Done."],
    )
    text = h.send("go").tool_calls[0].text
    assert text.startswith("Error: nothing was run: commands are sandboxed here")
    assert "install bubblewrap" in text
    assert not (h.workspace / "proof").exists()
