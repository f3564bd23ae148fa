"""Which versions a chat has at which message."""

from __future__ import annotations

from typing import Any

from hookline_web_ui.version_tree import base_of, versions_of


def row(id_: str, base: str | None, fork: int | None, updated: int, edited: int = 0) -> Any:
    made = {"id": id_, "root": "a", "base": base, "fork_seq": fork}
    return made | {"edited": edited, "updated": updated, "created": updated}


FAMILY = [
    row("a", None, None, 1),
    row("b", "a", 5, 2),
    row("c", "b", 9, 3, edited=1),
    row("d", "a", 3, 4),
]


def test_versions_are_found_along_the_line_of_a_session() -> None:
    assert versions_of(FAMILY, "c") == [
        {"seq": 3, "edited": False, "ids": ["c", "d"], "current": 0},
        {"seq": 5, "edited": False, "ids": ["a", "c"], "current": 1},
        {"seq": 9, "edited": True, "ids": ["b", "c"], "current": 1},
    ]
    # the way back to the line of a leads to where it was used last
    assert versions_of(FAMILY, "d") == [
        {"seq": 3, "edited": False, "ids": ["c", "d"], "current": 1}
    ]
    assert versions_of([], "x") == []


def test_copy_of_a_copied_message_is_a_version_of_the_original() -> None:
    assert base_of(FAMILY, "c", 4) == "a"
    assert base_of(FAMILY, "c", 7) == "b"
    assert base_of(FAMILY, "c", 9) == "b"
    assert base_of(FAMILY, "c", 11) == "c"
    assert base_of([], "x", 3) == "x"


def test_lost_version_leaves_the_others() -> None:
    rest = [one for one in FAMILY if one["id"] != "a"]
    assert versions_of(rest, "c") == [{"seq": 9, "edited": True, "ids": ["b", "c"], "current": 1}]
