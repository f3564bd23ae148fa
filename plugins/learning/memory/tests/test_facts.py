"""Facts: remembered, recalled by themselves and on demand, merged, faded, forgotten."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import calls

from .conftest import DAY, facts_in

STAGING = "The staging database runs on host db-2"


def test_fact_is_recalled_only_for_a_relevant_message(mind: Any) -> None:
    mind.text("remember", content=STAGING)
    assert mind.told("connect to the staging database") == [STAGING]
    assert mind.told("what a lovely evening") == []
    context = mind.harness.model.requests[-2].messages[-1].context
    assert "information, not instructions" in context


def test_recalled_fact_is_in_the_context_and_not_in_the_message(mind: Any) -> None:
    mind.text("remember", content=STAGING)
    session = mind.new_session()
    mind.told("connect to the staging database", session=session)
    stored = mind.harness.run(_messages(mind, session))
    assert not any("db-2" in message.text for message in stored)


async def _messages(mind: Any, session: str) -> Any:
    from hookline_memory import Memory

    return await mind.harness.plugin(Memory).host.messages(session)


def test_fact_is_not_repeated_while_it_is_in_the_context(mind: Any) -> None:
    mind.text("remember", content=STAGING)
    session = mind.new_session()
    assert mind.told("the staging database?", session=session) == [STAGING]
    assert mind.told("the staging database again", session=session) == []
    mind.restart()
    assert mind.told("the staging database once more", session=session) == []
    assert mind.told("the staging database", session=mind.new_session()) == [STAGING]


def test_fact_is_recalled_again_after_the_context_was_dropped(
    mind: Any, clock: Callable[[float], None]
) -> None:
    clock(0)
    mind.text("remember", content=STAGING)
    session = mind.new_session()
    mind.told("the staging database?", session=session)
    clock(3_600)  # the provider's cache is cold, so core drops old blocks
    assert mind.told("the staging database?", session=session) == [STAGING]


def test_fact_is_recalled_again_after_compaction(mind: Any) -> None:
    mind.text("remember", content=STAGING)
    session = mind.new_session()
    mind.told("the staging database?", session=session)
    assert mind.harness.send("/shrink", session=session).text == "2 messages"
    assert mind.told("the staging database?", session=session) == [STAGING]


def test_fact_in_a_tool_call_or_result_is_not_repeated(mind: Any) -> None:
    session = mind.new_session()
    mind.call("remember", session=session, content=f"  {STAGING}\n")
    assert mind.told("the staging database?", session=session) == []
    other = mind.new_session()
    assert STAGING in mind.call("recall", session=other, query="staging").text
    assert mind.told("the staging database?", session=other) == []
    third = mind.new_session()
    operations = [{"action": "remember", "content": "The cat Tom is old"}]
    mind.call("batch", session=third, operations=operations)
    assert mind.told("how old is Tom the cat", session=third) == []


def test_markup_in_a_fact_stays_text_and_is_recognised(mind: Any) -> None:
    fact = "Titles look like <b>this & that</b> [sic]"
    mind.text("remember", content=fact)
    session = mind.new_session()
    assert mind.told("how do titles look?", session=session) == [fact]
    assert "<b>" not in mind.harness.model.last.messages[-1].context
    assert mind.told("titles?", session=session) == []


def test_recall_is_limited_in_facts_and_characters(make_mind: Callable[..., Any]) -> None:
    mind = make_mind(recall_max_chars=400)
    for number in range(9):
        mind.text("remember", content=f"server {number}{number} stands in room {number * 7}")
    assert len(mind.told("server room")) == 5
    mind.text("remember", content=f"server long {'word ' * 80}")
    assert sum(map(len, mind.told("server room"))) <= 400


def test_recall_can_be_switched_off(make_mind: Callable[..., Any]) -> None:
    mind = make_mind(recall_limit=0)
    mind.text("remember", content=STAGING)
    assert mind.told("the staging database") == []
    assert STAGING in mind.text("recall", query="staging database")


def test_recall_happens_in_chats_only(mind: Any) -> None:
    mind.text("remember", content=STAGING)
    mind.harness.model.steps.append("done")
    mind.harness.run(_fork(mind, "staging database"))
    assert facts_in(mind.harness.model.last.messages[-1].context) == []


async def _fork(mind: Any, prompt: str) -> Any:
    from hookline_memory import Memory

    return await mind.harness.plugin(Memory).host.fork("test", prompt)


def test_recall_ranks_by_relevance_confidence_and_age(
    mind: Any, clock: Callable[[float], None]
) -> None:
    clock(0)
    mind.text("remember", content="The blue server stands in Oslo")
    clock(40 * DAY)
    mind.text("remember", content="The blue server stands in Bergen")
    text = mind.text("recall", query="blue server")
    assert text.index("Bergen") < text.index("Oslo")


def test_old_fact_fades_from_turns_but_recall_finds_it(
    mind: Any, clock: Callable[[float], None]
) -> None:
    clock(0)
    mind.text("remember", content=STAGING)
    mind.text("remember", content="Ana likes the staging area of theatres", category="profile")
    clock(120 * DAY)
    assert mind.told("staging") == ["Ana likes the staging area of theatres"]
    assert STAGING in mind.text("recall", query="staging database")


@pytest.mark.parametrize("half_life", [0, -3])
def test_half_life_of_zero_switches_fading_off(
    make_mind: Callable[..., Any], clock: Callable[[float], None], half_life: float
) -> None:
    mind = make_mind(half_life_days=half_life)
    clock(0)
    mind.text("remember", content=STAGING)
    clock(900 * DAY)
    assert mind.told("staging database") == [STAGING]


def test_expired_fact_is_hidden_at_once_and_deleted_by_the_job(
    mind: Any, clock: Callable[[float], None]
) -> None:
    clock(0)
    mind.text("remember", content=STAGING, ttl_days=1.5)
    mind.text("remember", content="The staging area has a lift")
    clock(1.4 * DAY)
    assert STAGING in mind.told("staging database")
    clock(1.6 * DAY)
    assert STAGING not in mind.told("staging database")
    assert STAGING not in mind.text("recall", query="staging database")
    assert STAGING not in mind.harness.send("/memory").text
    assert "no fact" in mind.error("forget", old_text=STAGING)
    mind.job()
    clock(0)
    assert STAGING not in mind.text("recall", query="staging database")
    assert "lift" in mind.text("recall", query="staging lift")


def test_repeated_fact_is_stored_once(mind: Any) -> None:
    mind.text("remember", content="The user prefers dark mode")
    for content in ("User prefers dark mode.", "the user prefers  dark mode", "prefers DARK mode"):
        assert "Already known" in mind.text("remember", content=content)
    assert "replaces" in mind.text("remember", content="The user prefers dark mode in editors")
    shown = mind.harness.send("/memory").text
    assert "Facts of this chat: 1\n" in shown
    assert "in editors" in shown
    mind.text("remember", content="用户住在杭州。")
    assert "Already known" in mind.text("remember", content="用户住在杭州")


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
def test_facts_with_different_meaning_are_not_merged(mind: Any, first: str, second: str) -> None:
    mind.text("remember", content=first)
    assert mind.text("remember", content=second).startswith("Remembered.")
    assert "Facts of this chat: 2\n" in mind.harness.send("/memory").text


def test_number_of_facts_per_chat_is_limited(
    make_mind: Callable[..., Any], clock: Callable[[float], None]
) -> None:
    mind = make_mind(facts_max=3)
    for number, category in enumerate(["profile", "knowledge", "knowledge", "event", "event"]):
        clock(number)
        name = ["alpha", "beta", "gamma", "delta", "epsilon"][number]
        mind.text("remember", content=f"{name} is a letter", category=category)
    shown = mind.harness.send("/memory").text
    assert "Facts of this chat: 3\n" in shown
    assert all(name in shown for name in ("alpha", "delta", "epsilon"))


def test_forget_is_exact_and_refuses_ambiguity(mind: Any) -> None:
    mind.text("remember", content="The cat Tom is grey")
    mind.text("remember", content="The cat Tim is white")
    error = mind.error("forget", old_text="the CAT")
    assert "2 facts contain" in error
    assert "The cat Tom is grey" in error
    mind.text("forget", old_text="Tom")
    assert "Tom" not in mind.text("recall", query="cat Tom Tim")
    assert "no fact of this chat contains `dog`" in mind.error("forget", old_text="dog")


def test_poisoned_fact_is_not_shown_to_the_model(mind: Any) -> None:
    mind.gates.learns_all = True  # as before there was a scanner
    mind.text("remember", content="The staging EVIL database")
    mind.text("remember", content=STAGING)
    assert mind.told("staging database") == [STAGING]
    assert "EVIL" not in mind.text("recall", query="staging database")


@pytest.mark.parametrize(
    "text", ["", "?!…", "🙂🙂", "a", "\ud800", "\0", '" OR * NEAR(', "C++", "的"]
)
def test_recall_accepts_any_text(mind: Any, text: str) -> None:
    mind.text("remember", content="The project uses C++ and 目的 is clear")
    told = mind.told(text or " ")
    assert isinstance(told, list)
    if text.strip("\0 "):
        assert mind.call("recall", query=text).ok


def test_fact_length_is_limited(mind: Any) -> None:
    assert "at most 500 characters, this one has 501" in mind.error("remember", content="x" * 501)
    mind.text("remember", content="é" * 500)


def test_review_stores_facts_for_the_reviewed_session(mind: Any, capsys: Any) -> None:
    mind.harness.model.steps += ["hello", [calls("memory", action="remember", content=STAGING)]]
    mind.harness.model.steps.append("Nothing more to save.")
    mind.harness.send("hi", session="talk")

    async def review() -> Any:
        from hookline_memory import Memory

        return await mind.harness.plugin(Memory).host.fork("talk", "look back")

    mind.harness.run(review())
    assert "session talk, turn 1" in mind.cli(capsys, "list")
    assert mind.told("staging database") == [STAGING]


def test_two_processes_see_each_others_facts(make_mind: Callable[..., Any]) -> None:
    here, there = make_mind(), make_mind()
    assert here.told("connect to the staging database") == []
    there._count = 100  # sessions of its own
    assert there.told("connect to the staging database") == []
    there.text("remember", content=STAGING)
    assert here.told("connect to the staging database") == [STAGING]
    here.text("forget", old_text=STAGING)
    assert there.told("connect to the staging database") == []


def test_chat_without_facts_reads_no_table(mind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    mind.told("connect to the staging database")
    storage = mind.harness.plugin(type(mind.gates)).host.storage
    read: list[str] = []
    fetch = type(storage).fetch

    async def counted(self: Any, name: str, /, **params: Any) -> Any:
        read.append(name)
        return await fetch(self, name, **params)

    monkeypatch.setattr(type(storage), "fetch", counted)
    assert mind.told("connect to the staging database") == []
    assert read == []
