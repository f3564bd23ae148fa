"""The parts of a command that a reason quotes are found however the command quotes them."""

from __future__ import annotations

import pytest
from hookline_hookspecs.questions import marked_preview
from hookline_permissions.quoted_parts import quoted_parts


@pytest.mark.parametrize(
    ("command", "reason", "mark"),
    [
        ("echo hi; rm  -rf 'my dir'", "`rm -rf my dir` deletes", "echo hi; ⟦rm  -rf 'my dir'⟧"),
        ('a && r"m" -rf x', "`rm -rf x` deletes", 'a && ⟦r"m" -rf x⟧'),
        ("a b c; d", "`a b…` is long", "⟦a b⟧ c; d"),
        ("fetch.sh && sh x.sh", "`sh` runs what was fetched", "fetch.sh && ⟦sh⟧ x.sh"),
        ("echo push; 'sh' -c ls", "`sh` runs what was fetched", "echo push; ⟦'sh'⟧ -c ls"),
    ],
)
def test_quoted_part_is_marked(command: str, reason: str, mark: str) -> None:
    shown = marked_preview(command, quoted_parts(command, reason))
    assert shown == f"{command}\n\nRisky: {mark}"


@pytest.mark.parametrize("reason", ["", "it is dangerous", "`rm` is not there", "``", "`'`"])
def test_nothing_is_marked_where_nothing_is_named(reason: str) -> None:
    assert marked_preview("ls -l", quoted_parts("ls -l", reason)) == "ls -l"
