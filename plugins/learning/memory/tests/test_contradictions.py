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
        ("O usuário mora em Lisboa", "O usuário mora no Porto"),
        ("O usuário trabalha no banco", "O usuário trabalha na escola"),
        ("The user prefers dark mode", "User prefers light mode."),
        ("Uses dark mode", "uses LIGHT mode"),
        ("用户喜欢深色模式", "用户喜欢浅色模式。"),
        ("The standup is at 10:00", "The standup is at 11:00."),
        ("The office closes at 6 pm", "The office closes at 7 pm"),
        ("Backup läuft um 10:00", "Backup läuft um 11:00"),
        ("The user wants answers in German", "The user wants answers in English"),
        ("Wants short answers", "Wants long answers"),
        ("Notifications are enabled", "Notifications are disabled"),
        ("The project uses tabs", "The project uses spaces"),
        ("Lunch costs $12", "Lunch costs $14"),
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
        ("dark mode", "light mode"),
        ("深色模式", "浅色模式"),
        ("Theme: dark mode", "Theme: light mode"),
        ("Editor: vim", "Editor: emacs"),
        ("Standup at 10:00", "Standup at 11:00"),
        ("Ana called at 10:00", "Ana called at 11:00"),
        ("Termin am Montag", "Termin am Dienstag"),
        ("会议在10:00", "会议在11:00"),
        ("会議は10時です", "会議は11時です"),
        ("회의는 10시입니다", "회의는 11시입니다"),
        ("Budget: 500 EUR", "Budget: 700 EUR"),
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
        ("Invoice 17 was paid", "Invoice 18 was paid"),
        ("Meeting with Bob at 10:00", "Meeting with Ana at 11:00"),
        ("Likes tea in the morning", "Likes coffee in the evening"),
        ("Read chapter 1", "Read chapter 2"),
    ],
)
def test_facts_about_something_else_do_not_contradict(memory: Any, old: str, new: str) -> None:
    memory.text("remember", content=old)
    assert memory.text("remember", content=new) == "Remembered."
    assert _facts(memory) == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Ana lives in Oslo", "ana  lives in OSLO."),
        ("Ana likes tea", "Ana likes tea!"),
        ("用户喜欢茶", "用户喜欢茶。"),
        ("用户 喜欢 茶", "用户喜欢茶"),
        ("ユーザーはお茶が好きです。", "ユーザーはお茶が好きです"),
        ("사용자는 차를 좋아한다.", "사용자는 차를 좋아한다"),
        ("ＡＮＡ likes tea", "Ana likes tea"),
        ("Anas Straße", "ANAS STRASSE"),
    ],
)
def test_equal_fact_is_stored_once(memory: Any, old: str, new: str) -> None:
    memory.text("remember", content=old)
    assert memory.text("remember", content=new) == "Already known."
    assert _facts(memory) == 1


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
