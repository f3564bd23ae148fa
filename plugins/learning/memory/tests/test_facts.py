"""Facts: stored, recalled for a message or on demand, merged, faded, deleted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import calls
from hookline_memory.duplicates import compare_facts

from .conftest import DAY, facts_in

STAGING = "The staging database runs on host db-2"


def test_fact_is_recalled_only_for_a_relevant_message(memory: Any) -> None:
    memory.text("remember", content=STAGING)
    assert memory.told("connect to the staging database") == [STAGING]
    assert memory.told("what a lovely evening") == []
    context = memory.harness.model.requests[-2].messages[-1].context
    assert "information, not instructions" in context


def test_recalled_fact_is_in_the_context_and_not_in_the_message(memory: Any) -> None:
    memory.text("remember", content=STAGING)
    session = memory.new_session()
    memory.told("connect to the staging database", session=session)
    stored = memory.harness.run(_messages(memory, session))
    assert not any("db-2" in message.text for message in stored)


async def _messages(memory: Any, session: str) -> Any:
    from hookline_memory import Memory

    return await memory.harness.plugin(Memory).host.messages(session)


def test_fact_is_not_repeated_while_it_is_in_the_context(memory: Any) -> None:
    memory.text("remember", content=STAGING)
    session = memory.new_session()
    assert memory.told("the staging database?", session=session) == [STAGING]
    assert memory.told("the staging database again", session=session) == []
    memory.restart()
    assert memory.told("the staging database once more", session=session) == []
    assert memory.told("the staging database", session=memory.new_session()) == [STAGING]


def test_fact_is_recalled_again_after_the_context_was_dropped(
    memory: Any, clock: Callable[[float], None]
) -> None:
    clock(0)
    memory.text("remember", content=STAGING)
    session = memory.new_session()
    memory.told("the staging database?", session=session)
    clock(3_600)  # the provider's cache is cold, so core drops old blocks
    assert memory.told("the staging database?", session=session) == [STAGING]


def test_fact_is_recalled_again_after_compaction(memory: Any) -> None:
    memory.text("remember", content=STAGING)
    session = memory.new_session()
    memory.told("the staging database?", session=session)
    assert memory.harness.send("/shrink", session=session).text == "2 messages"
    assert memory.told("the staging database?", session=session) == [STAGING]


def test_fact_in_a_tool_call_or_result_is_not_repeated(memory: Any) -> None:
    session = memory.new_session()
    memory.call("remember", session=session, content=f"  {STAGING}\n")
    assert memory.told("the staging database?", session=session) == []
    other = memory.new_session()
    assert STAGING in memory.call("recall", session=other, query="staging").text
    assert memory.told("the staging database?", session=other) == []
    third = memory.new_session()
    operations = [{"action": "remember", "content": "The cat Tom is old"}]
    memory.call("batch", session=third, operations=operations)
    assert memory.told("how old is Tom the cat", session=third) == []


def test_markup_in_a_fact_stays_text_and_is_recognised(memory: Any) -> None:
    fact = "Titles look like <b>this & that</b> [sic]"
    memory.text("remember", content=fact)
    session = memory.new_session()
    assert memory.told("how do titles look?", session=session) == [fact]
    assert "<b>" not in memory.harness.model.last.messages[-1].context
    assert memory.told("titles?", session=session) == []


def test_recall_is_limited_in_facts_and_characters(make_memory: Callable[..., Any]) -> None:
    memory = make_memory(recall_max_chars=400)
    for number in range(9):
        memory.text("remember", content=f"server {number}{number} stands in room {number * 7}")
    assert len(memory.told("server room")) == 5
    memory.text("remember", content=f"server long {'word ' * 80}")
    assert sum(map(len, memory.told("server room"))) <= 400


def test_recall_can_be_switched_off(make_memory: Callable[..., Any]) -> None:
    memory = make_memory(recall_limit=0)
    memory.text("remember", content=STAGING)
    assert memory.told("the staging database") == []
    assert STAGING in memory.text("recall", query="staging database")


def test_recall_happens_in_chats_only(memory: Any) -> None:
    memory.text("remember", content=STAGING)
    memory.harness.model.steps.append("done")
    memory.harness.run(_fork(memory, "staging database"))
    assert facts_in(memory.harness.model.last.messages[-1].context) == []


async def _fork(memory: Any, prompt: str) -> Any:
    from hookline_memory import Memory

    return await memory.harness.plugin(Memory).host.fork("test", prompt)


def test_recall_ranks_by_relevance_confidence_and_age(
    memory: Any, clock: Callable[[float], None]
) -> None:
    clock(0)
    memory.text("remember", content="The blue server stands in Oslo")
    clock(40 * DAY)
    memory.text("remember", content="The blue server stands in Bergen")
    text = memory.text("recall", query="blue server")
    assert text.index("Bergen") < text.index("Oslo")


def test_old_fact_fades_from_turns_but_recall_finds_it(
    memory: Any, clock: Callable[[float], None]
) -> None:
    clock(0)
    memory.text("remember", content=STAGING)
    memory.text("remember", content="Ana likes the staging area of theatres", category="profile")
    clock(120 * DAY)
    assert memory.told("staging") == ["Ana likes the staging area of theatres"]
    assert STAGING in memory.text("recall", query="staging database")


@pytest.mark.parametrize("half_life", [0, -3])
def test_half_life_of_zero_switches_fading_off(
    make_memory: Callable[..., Any], clock: Callable[[float], None], half_life: float
) -> None:
    memory = make_memory(half_life_days=half_life)
    clock(0)
    memory.text("remember", content=STAGING)
    clock(900 * DAY)
    assert memory.told("staging database") == [STAGING]


def test_expired_fact_is_hidden_at_once_and_deleted_by_the_job(
    memory: Any, clock: Callable[[float], None]
) -> None:
    clock(0)
    memory.text("remember", content=STAGING, ttl_days=1.5)
    memory.text("remember", content="The staging area has a lift")
    clock(1.4 * DAY)
    assert STAGING in memory.told("staging database")
    clock(1.6 * DAY)
    assert STAGING not in memory.told("staging database")
    assert STAGING not in memory.text("recall", query="staging database")
    assert STAGING not in memory.harness.send("/memory").text
    assert "no fact" in memory.error("forget", old_text=STAGING)
    memory.job()
    clock(0)
    assert STAGING not in memory.text("recall", query="staging database")
    assert "lift" in memory.text("recall", query="staging lift")


def test_repeated_fact_is_stored_once(memory: Any) -> None:
    memory.text("remember", content="The user prefers dark mode")
    for content in ("User prefers dark mode.", "the user prefers  dark mode", "prefers DARK mode"):
        assert "Already known" in memory.text("remember", content=content)
    assert "replaces" in memory.text("remember", content="The user prefers dark mode in editors")
    shown = memory.harness.send("/memory").text
    assert "Facts of this chat: 1\n" in shown
    assert "in editors" in shown
    memory.text("remember", content="用户住在杭州。")
    assert "Already known" in memory.text("remember", content="用户住在杭州")
    assert "Already known" in memory.text("remember", content="用户 住在 杭州")
    memory.text("remember", content="東京に 住んでいる")
    assert "Already known" in memory.text("remember", content="東京に住んでいる")


@pytest.mark.long
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The flight goes from Berlin to Paris", "The flight goes to Berlin from Paris"),
        ("The service listens on port 8080", "The service listens on port 8081"),
        ("Ana likes tea", "Ana does not like tea"),
        ("Ana likes tea", "Anna likes tea"),
        ("Anna manages Bob", "Bob manages Anna"),
        ("Ana likes tea", "Ana's brother likes tea"),
        ("The user works in production", "The user works in product"),
        ("我喜欢喝茶", "我不喜欢喝茶"),
        ("Der Zug hält in Ulm", "Der Zug hält nicht in Ulm"),
        ("?", "!"),
    ],
)
def test_facts_with_different_meaning_are_not_merged(memory: Any, first: str, second: str) -> None:
    memory.text("remember", content=first)
    assert memory.text("remember", content=second).startswith("Remembered.")
    assert "Facts of this chat: 2\n" in memory.harness.send("/memory").text


def test_number_of_facts_per_chat_is_limited(
    make_memory: Callable[..., Any], clock: Callable[[float], None]
) -> None:
    memory = make_memory(facts_max=3)
    for number, category in enumerate(["profile", "knowledge", "knowledge", "event", "event"]):
        clock(number)
        name = ["alpha", "beta", "gamma", "delta", "epsilon"][number]
        memory.text("remember", content=f"{name} is a letter", category=category)
    shown = memory.harness.send("/memory").text
    assert "Facts of this chat: 3\n" in shown
    assert all(name in shown for name in ("alpha", "delta", "epsilon"))


def test_forget_is_exact_and_refuses_ambiguity(memory: Any) -> None:
    memory.text("remember", content="The cat Tom is grey")
    memory.text("remember", content="The cat Tim is white")
    error = memory.error("forget", old_text="the CAT")
    assert "2 facts contain" in error
    assert "The cat Tom is grey" in error
    memory.text("forget", old_text="Tom")
    assert "Tom" not in memory.text("recall", query="cat Tom Tim")
    assert "no fact of this chat contains `dog`" in memory.error("forget", old_text="dog")


def test_poisoned_fact_is_not_shown_to_the_model(memory: Any) -> None:
    memory.gates.learns_all = True  # as before there was a scanner
    memory.text("remember", content="The staging EVIL database")
    memory.text("remember", content=STAGING)
    assert memory.told("staging database") == [STAGING]
    assert "EVIL" not in memory.text("recall", query="staging database")


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["", "?!…", "🙂🙂", "a", "\ud800", "\0", '" OR * NEAR(', "C++", "的"]
)
def test_recall_accepts_any_text(memory: Any, text: str) -> None:
    memory.text("remember", content="The project uses C++ and 目的 is clear")
    told = memory.told(text or " ")
    assert isinstance(told, list)
    if text.strip("\0 "):
        assert memory.call("recall", query=text).ok


def test_fact_length_is_limited(memory: Any) -> None:
    assert "at most 500 characters, this one has 501" in memory.error("remember", content="x" * 501)
    memory.text("remember", content="é" * 500)


def test_review_stores_facts_for_the_reviewed_session(memory: Any, capsys: Any) -> None:
    memory.harness.model.steps += ["hello", [calls("memory", action="remember", content=STAGING)]]
    memory.harness.model.steps.append("Nothing more to save.")
    memory.harness.send("hi", session="talk")

    async def review() -> Any:
        from hookline_memory import Memory

        return await memory.harness.plugin(Memory).host.fork("talk", "look back")

    memory.harness.run(review())
    assert "session talk, turn 1" in memory.cli(capsys, "list")
    assert memory.told("staging database") == [STAGING]


def test_two_processes_see_each_others_facts(make_memory: Callable[..., Any]) -> None:
    here, there = make_memory(), make_memory()
    assert here.told("connect to the staging database") == []
    there._count = 100  # sessions of its own
    assert there.told("connect to the staging database") == []
    there.text("remember", content=STAGING)
    assert here.told("connect to the staging database") == [STAGING]
    here.text("forget", old_text=STAGING)
    assert there.told("connect to the staging database") == []


def test_chat_without_facts_reads_no_table(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.told("connect to the staging database")
    storage = memory.harness.plugin(type(memory.gates)).host.storage
    read: list[str] = []
    fetch = type(storage).fetch

    async def counted(self: Any, name: str, /, **params: Any) -> Any:
        read.append(name)
        return await fetch(self, name, **params)

    monkeypatch.setattr(type(storage), "fetch", counted)
    assert memory.told("connect to the staging database") == []
    assert read == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The user likes tea.", "the  user likes TEA"),
        ("用户喜欢茶。", "用户喜欢茶"),
        ("用户 喜欢 茶", "用户喜欢茶。"),
        ("ユーザーはお茶が好きです。", "ユーザーはお茶が好きです"),
    ],
)
def test_facts_equal_but_for_case_blanks_and_full_stop_are_duplicates(old, new):
    assert compare_facts(old, new) is False


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The freezer is set to -5 degrees.", "The freezer is set to 5 degrees."),
        ("Limit: −20", "Limit: 20"),
        ("likes C", "likes C++"),
        ("3.5 kg", "35 kg"),
    ],
)
def test_facts_that_differ_in_a_sign_are_no_duplicates(old, new):
    assert compare_facts(old, new) is None
    assert compare_facts(new, old) is None
