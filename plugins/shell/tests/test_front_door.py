"""Through the real core: the model calls the tool, the judge answers first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hookline.testing import Harness, calls
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
        ({"command": "echo a\0b"}, "NUL"),
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


def test_the_sandbox_refuses_and_never_runs_bare(
    harness: MakeHarness, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from hookline_shell.sandbox import refusal

    (tmp_path / "bash").symlink_to("/bin/bash")
    monkeypatch.setenv("PATH", str(tmp_path))
    refusal.cache_clear()
    try:
        h = harness(
            Shell,
            config={"sandbox": {"enabled": True}},
            model=[calls("bash", command="echo > proof"), "Done."],
        )
        text = h.send("go").tool_calls[0].text
        assert text.startswith("Error: nothing was run: the sandbox needs bubblewrap")
        assert not (h.workspace / "proof").exists()
    finally:
        refusal.cache_clear()
