"""A new fact that contradicts a stored one shows it, and replaces it or leaves both."""

from __future__ import annotations

from typing import Any

import pytest

REPLACED = "Remembered; it replaces an outdated fact."
BOTH = "Remembered. Forget what no longer holds of the facts that it contradicts."


def _facts(memory: Any) -> int:
    shown = memory.harness.send("/memory").text
    return int(shown.partition("Facts of this chat: ")[2].split()[0])


@pytest.mark.long
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Ana lives in Oslo", "Ana lives in Bergen now"),
        ("The user works at Initech", "User works for Globex."),
        ("The deploy day is Tuesday", "the DEPLOY day is Thursday"),
        ("Ana's birthday is 3 May", "The birthday of Ana is 4 May"),
        ("The project uses Python 3.11", "The project uses Python 3.12"),
        ("Ana wohnt in Köln", "Ana wohnt in Ulm"),
        ("用户住在杭州。", "用户住在上海"),
    ],
)
def test_outdated_fact_is_shown_and_replaced(memory: Any, old: str, new: str) -> None:
    memory.text("remember", content=old)
    text = memory.text("remember", content=new)
    assert text.startswith(f"{REPLACED}\n- {old} [knowledge, ")
    assert _facts(memory) == 1
    assert old not in memory.text("recall", query=new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Bob uses Vim", "Bob uses Emacs"),
        ("The car is red", "The car is fast"),
        ("Ana likes tea", "Ana does not like tea"),
        ("Ana likes tea", "Ana doesn't like tea"),
        ("我喜欢喝茶", "我不喜欢喝茶"),
    ],
)
def test_doubtful_fact_is_shown_and_both_stay(memory: Any, old: str, new: str) -> None:
    memory.text("remember", content=old)
    text = memory.text("remember", content=new)
    assert text.startswith(f"{BOTH}\n- {old} [knowledge, ")
    assert _facts(memory) == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Ana lives in Oslo", "Bob lives in Bergen"),
        ("Ana lives in Oslo", "Ana works at Oslo Bank"),
        ("Ana lives in Oslo near the park", "Ana lives in Oslo"),
        ("Ana lives in Oslo", "Ana lived in Bergen"),
        ("The phone of Ana is 12", "The phone of Bob is 13"),
    ],
)
def test_facts_about_something_else_do_not_contradict(memory: Any, old: str, new: str) -> None:
    memory.text("remember", content=old)
    assert memory.text("remember", content=new) == "Remembered."
    assert _facts(memory) == 2


def test_replaced_fact_comes_back_by_undo(memory: Any, capsys: Any) -> None:
    memory.text("remember", content="Ana lives in Oslo")
    memory.text("remember", content="Ana lives in Bergen")
    assert "replace: - Ana lives in Oslo  + Ana lives in Bergen" in memory.cli(capsys, "log")
    memory.cli(capsys, "undo", number=2)
    found = memory.text("recall", query="where does Ana live")
    assert "Oslo" in found
    assert "Bergen" not in found


def test_blocked_fact_is_replaced_and_not_shown(memory: Any) -> None:
    memory.gates.learns_all = True
    memory.text("remember", content="Ana lives in EVIL")
    assert memory.text("remember", content="Ana lives in Oslo") == REPLACED
