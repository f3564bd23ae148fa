"""Through the real core: what is decided about a command before the tool runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hookline.testing import Harness, calls
from hookline_hookspecs import Context, Effect, Plugin, ToolCall, hookimpl
from hookline_shell import Shell

BARE = {"sandbox": {"enabled": False}}
"""Settings without a sandbox."""

MakeHarness = Callable[..., Harness]


def run(
    make: MakeHarness, /, answers: tuple[str, ...] = (), **arguments: object
) -> tuple[str, bool]:
    """The result of one call of ``bash`` without a sandbox, and whether a person was asked."""
    model = [calls("bash", **arguments), "Done."]
    h = make(Shell, model=model, config=BARE, answers=answers)
    result = h.send("go").tool_calls[0]
    return result.text, bool(h.questions)


def test_command_in_the_sandbox_needs_no_approval(sandboxes: None, harness: MakeHarness) -> None:
    command = "python3 -c 'print(6 * 7)'; for x in a; do $x; done; rm -rf ~"
    h = harness(Shell, model=[calls("bash", command=command), "Done."])
    assert h.send("go").tool_calls[0].text.startswith("42\n")
    assert h.questions == []


def test_without_rules_and_sandbox_every_command_is_asked_about(harness: MakeHarness) -> None:
    command = "echo one; 'echo' two"
    h = harness(
        Shell, model=[calls("bash", command=command), "Done."], config=BARE, answers=["Deny"]
    )
    text = h.send("go").tool_calls[0].text
    assert text.startswith("Denied: it would run without a sandbox")
    assert [question.preview for question in h.questions] == [command]
    h.model.steps += [calls("bash", command=command), "Done."]
    refused = h.send("go", approve="no").tool_calls[0].text
    assert refused.startswith("Denied: it would run without a sandbox")
    assert "the plugin permissions is off, so no rule allows it" in refused


def test_approved_command_is_run(harness: MakeHarness) -> None:
    text, asked = run(harness, ("Allow once",), command="ls / > /dev/null; echo listed")
    assert (text, asked) == ("listed\n[exit code 0]", True)


def test_keys_are_not_visible_in_a_sandbox(
    sandboxes: None, harness: MakeHarness, tmp_path: Path
) -> None:
    folder = tmp_path / "me"
    for name in ("vault.key", ".env", "plugins/audit/key"):
        (file := folder / ".hookline" / name).parent.mkdir(parents=True, exist_ok=True)
        file.write_text("canary")
    (folder / "a.py").write_text("print(1)\n")
    model = [calls("bash", command="grep -rh . . | sort"), "Done."]
    more = {"home": folder / ".hookline", "workspace": folder}
    h = harness(Shell, config={"sandbox": {"enabled": True}}, model=model, **more)
    text = h.send("go").tool_calls[0].text
    assert "print(1)" in text
    assert "canary" not in text


def test_command_may_do_anything_if_nobody_knows_its_effects(harness: MakeHarness) -> None:
    found: list[Effect] = []

    class Listener(Plugin[None]):
        @hookimpl
        def pre_tool(self, ctx: Context, call: ToolCall) -> None:
            found.extend(ctx.effects(call))

    h = harness(
        Shell, Listener, model=[calls("bash", command="ls"), "Done."], config={"shell": BARE}
    )
    h.send("go", approve="no")
    assert found == [Effect("unknown")]


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
    text, _ = run(harness, ("Allow once",), **arguments)
    assert text.startswith("Error: ")
    assert said in text


def test_workdir_outside_is_refused(harness: MakeHarness) -> None:
    text, _ = run(harness, ("Allow once",), command="pwd", workdir="/")
    assert text.startswith(("Error: ", "Denied: "))
    assert "outside the workspace" in text


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
