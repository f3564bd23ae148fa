"""Messages name commands of the command line."""

from __future__ import annotations

import pytest
from hookline_run.command_hints import for_command_line


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        (
            "Try again soon, or choose another model with /model or `--model`.",
            "Try again soon, or choose another model with `--model PROVIDER/MODEL`.",
        ),
        (
            "Shorten it with /compact, or begin anew with /new.",
            "Shorten it with `hookline run --session s /compact`, or begin anew with a run without "
            "`--session`.",
        ),
        (
            "/accept carries the plan out; anything else you write goes on planning.",
            "`hookline run --session s /accept` carries the plan out; anything else you write goes "
            "on planning.",
        ),
        ("See /srv/x/new and /model/y, src/model.py or `/new`.", None),
    ],
)
def test_slash_commands_become_shell_commands(said: str, wanted: str | None) -> None:
    assert for_command_line(said, "s") == (said if wanted is None else wanted)


def test_session_name_is_quoted() -> None:
    assert for_command_line("/undo", "a b") == "`hookline run --session 'a b' /undo`"
    assert for_command_line("/undo", None) == "`hookline run /undo`"
